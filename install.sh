#!/bin/sh
# Builds cld and installs it for the current user.
#
#   ./install.sh [--prefix DIR] [--dry-run]     build and install (default prefix: ~/.local)
#   ./install.sh --build                        only build; the last line printed is the program
#   ./install.sh --uninstall [--prefix DIR]     remove what was installed
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${HOME:?HOME is not set}/.local
action=install
dry_run=no

usage() {
    sed -n '2,6s/^# \{0,1\}//p' "$0"
}

say() {
    printf 'install: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

run() {
    if [ "$dry_run" = yes ]; then
        say "would run: $*"
    else
        "$@"
    fi
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -ge 2 ] || fail "--prefix needs a directory"
            prefix=$2
            shift
            ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --build) action=build ;;
        --uninstall) action=uninstall ;;
        --dry-run) dry_run=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            fail "unknown option $1"
            ;;
    esac
    shift
done

# A static binary starts in two thirds of the time, and a hook is all start. Where the system has
# no static C library, the ordinary build is as good in every other way.
build() {
    command -v cargo >/dev/null 2>&1 || fail "cargo is missing; install Rust first (https://rustup.rs)"
    host=$(rustc -vV | sed -n 's/^host: //p')
    target=${CARGO_TARGET_DIR:-$here/target}
    case $host in
        *-linux-gnu)
            if RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" run cargo build --quiet --release --locked \
                --manifest-path "$here/Cargo.toml" --target "$host"; then
                program=$target/$host/release/cld
                return
            fi
            say "no static build here, going on with the ordinary one"
            ;;
    esac
    run cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml"
    program=$target/release/cld
}

# tmux is what cld works on; without rights to install it, say what to do.
need_tmux() {
    command -v tmux >/dev/null 2>&1 && return
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || fail "tmux is missing; install it and run this again"
        as_root=sudo
    fi
    say "tmux is missing, installing it"
    if command -v apt-get >/dev/null 2>&1; then
        run $as_root apt-get install -y tmux
    elif command -v dnf >/dev/null 2>&1; then
        run $as_root dnf install -y tmux
    elif command -v pacman >/dev/null 2>&1; then
        run $as_root pacman -S --noconfirm tmux
    elif command -v brew >/dev/null 2>&1; then
        run brew install tmux
    else
        fail "tmux is missing and no package manager is known; install it and run this again"
    fi
}

case $action in
    build)
        build
        printf '%s\n' "$program"
        ;;
    uninstall)
        if [ -x "$prefix/bin/cld" ] && "$prefix/bin/cld" setup --uninstall -n | grep -q '^-'; then
            say "Claude Code still runs cld: first $prefix/bin/cld setup --uninstall"
            exit 1
        fi
        run rm -f "$prefix/bin/cld"
        [ "$dry_run" = yes ] || say "removed $prefix/bin/cld"
        ;;
    install)
        need_tmux
        build
        run mkdir -p "$prefix/bin"
        # A running hook may have the old binary open: put the new one beside it and rename.
        run cp "$program" "$prefix/bin/.cld.new"
        run chmod 755 "$prefix/bin/.cld.new"
        run mv -f "$prefix/bin/.cld.new" "$prefix/bin/cld"
        [ "$dry_run" = no ] || exit 0
        say "installed $prefix/bin/cld"
        case ":$PATH:" in
            *":$prefix/bin:"*) ;;
            *) say "add $prefix/bin to your PATH" ;;
        esac
        # It shows what it would change and asks; without a terminal there is nobody to ask.
        if [ -t 0 ] && [ -t 1 ]; then
            "$prefix/bin/cld" setup || say "later: $prefix/bin/cld setup"
        else
            say "next: $prefix/bin/cld setup"
        fi
        ;;
esac
