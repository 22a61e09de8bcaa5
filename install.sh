#!/bin/sh
# Builds cld and installs it for the current user: the program, its manual, and completion for bash,
# zsh and fish. Then it offers to register cld with Claude Code.
#
#   ./install.sh [--prefix DIR] [-y] [--dry-run]   build and install (default prefix: ~/.local)
#   ./install.sh --binary FILE ...                 install this program (or $CLD_BINARY) instead
#   ./install.sh --build                           only build; the last line printed is the program
#   ./install.sh --uninstall [--prefix DIR] [-y]   remove what was installed
#
# -y answers yes to all questions; --dry-run prints what would be done and does nothing.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${HOME:?HOME is not set}/.local
action=install
dry_run=no
yes=no
program=${CLD_BINARY:-}

usage() {
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
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

# Yes is also an empty line. Without a terminal there is nobody to ask.
agreed() {
    [ "$yes" = no ] || return 0
    [ -t 0 ] && [ -t 2 ] || return 1
    printf 'install: %s [Yn] ' "$*" >&2
    read -r answer || return 1
    case $answer in
        '' | y | Y | yes) return 0 ;;
        *) return 1 ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --binary)
            [ $# -ge 2 ] || fail "$1 needs a path"
            if [ "$1" = --prefix ]; then prefix=$2; else program=$2; fi
            shift
            ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --binary=*) program=${1#--binary=} ;;
        --build) action=build ;;
        --uninstall) action=uninstall ;;
        --dry-run) dry_run=yes ;;
        -y | --yes) yes=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            say "unknown option $1"
            exit 2
            ;;
    esac
    shift
done
case $prefix in
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac
list=$prefix/share/cld/installed

need_rust() {
    command -v cargo >/dev/null 2>&1 || fail "cargo is missing; install Rust first: https://rustup.rs"
    wanted=$(sed -n 's/^rust-version = "1\.\([0-9]*\)"/\1/p' "$here/Cargo.toml")
    found=$(rustc --version | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
    if [ -n "$found" ] && [ "$found" -lt "$wanted" ]; then
        fail "Rust 1.$wanted is needed, this is 1.$found; try: rustup update"
    fi
    command -v cc >/dev/null 2>&1 || fail "a linker is missing; install gcc or clang first"
}

# Rust's own static C library, which the first build on a machine may have to fetch.
has_musl() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] && return
    command -v rustup >/dev/null 2>&1 && run rustup --quiet target add "$1" >&2
}

# Whether the system has a static C library. Finding out by a build would take minutes.
links_statically() {
    probe=$(mktemp)
    printf 'int main(void) { return 0; }\n' | cc -static -x c -o "$probe" - >/dev/null 2>&1 && static=yes || static=no
    rm -f "$probe"
    [ "$static" = yes ]
}

# A static binary at a fixed address starts in a fraction of the time, and a hook is all start. That
# of musl is the fastest: it does not ask the processor what it can do, which takes a while on a
# virtual machine. Where no static build can be had, the ordinary one is as good in every other way.
build() {
    need_rust
    host=$(rustc -vV | sed -n 's/^host: //p')
    target=${CARGO_TARGET_DIR:-$here/target}
    say "building cld, which takes a minute or two"
    # Whoever watches wants to see that something happens.
    [ -t 2 ] && quiet='' || quiet=--quiet
    # shellcheck disable=SC2086 # Nothing is no argument.
    set -- build $quiet --release --locked --manifest-path "$here/Cargo.toml"
    case $host in
        *-linux-gnu | *-linux-musl)
            flags="${RUSTFLAGS:-} -C target-feature=+crt-static -C relocation-model=static"
            musl=${host%-gnu}
            musl=${musl%-musl}-musl
            if has_musl "$musl" && run env RUSTFLAGS="$flags" cargo "$@" --target "$musl"; then
                program=$target/$musl/release/cld
                return
            fi
            if links_statically && run env RUSTFLAGS="$flags" cargo "$@" --target "$host"; then
                program=$target/$host/release/cld
                return
            fi
            say "no static build here, going on with the ordinary one"
            ;;
    esac
    run cargo "$@"
    program=$target/release/cld
}

# tmux is what cld works on. It is installed by the system's own packages, after asking unless this
# is root anyway.
need_tmux() {
    command -v "${CLD_TMUX:-tmux}" >/dev/null 2>&1 && return
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root='sudo '
    if command -v apt-get >/dev/null 2>&1; then
        install="${as_root}apt-get install -y tmux"
    elif command -v dnf >/dev/null 2>&1; then
        install="${as_root}dnf install -y tmux"
    elif command -v pacman >/dev/null 2>&1; then
        install="${as_root}pacman -S --noconfirm tmux"
    elif command -v brew >/dev/null 2>&1; then
        install="brew install tmux"
    else
        fail "tmux is missing and no package manager is known; install it and run this again"
    fi
    if [ "$dry_run" = yes ]; then
        say "would run: $install"
        return
    fi
    [ -z "$as_root" ] || agreed "tmux is missing. Run \`$install\`?" ||
        fail "tmux is missing; install it and run this again: $install"
    say "tmux is missing: $install"
    # A fresh Debian knows no package before this.
    update="${install%install -y tmux}update -qq"
    case $update in
        *apt-get*) $update || : ;;
    esac
    $install || fail "tmux could not be installed; install it and run this again"
}

# Puts one file into its place and notes it. A running program may have the old one open, so the new
# one is put beside it and renamed.
put() {
    from=$1 to=$2 mode=$3
    if [ "$dry_run" = yes ]; then
        say "would install $to"
        return
    fi
    mkdir -p "$(dirname "$to")"
    cp "$from" "$to.new"
    chmod "$mode" "$to.new"
    mv -f "$to.new" "$to"
    printf '%s\n' "$to" >>"$list"
}

install_files() {
    if [ "$dry_run" = no ]; then
        [ -f "$program" ] || fail "there is no program $program"
        mkdir -p "$(dirname "$list")"
        : >"$list"
    fi
    put "$program" "$prefix/bin/cld" 755
    for page in "$here"/man/*.[157]; do
        put "$page" "$prefix/share/man/man${page##*.}/${page##*/}" 644
    done
    put "$here/completions/cld.bash" "$prefix/share/bash-completion/completions/cld" 644
    put "$here/completions/_cld" "$prefix/share/zsh/site-functions/_cld" 644
    put "$here/completions/cld.fish" "$prefix/share/fish/vendor_completions.d/cld.fish" 644
}

uninstall() {
    if [ -x "$prefix/bin/cld" ] && "$prefix/bin/cld" setup --uninstall -n 2>/dev/null | grep -q '^-'; then
        if [ "$dry_run" = yes ]; then
            say "would run: $prefix/bin/cld setup --uninstall"
        elif agreed "Claude Code still runs cld. Take it out there first?"; then
            "$prefix/bin/cld" setup --uninstall -y
        else
            fail "Claude Code still runs cld: first $prefix/bin/cld setup --uninstall"
        fi
    fi
    if [ ! -f "$list" ]; then
        say "nothing is installed below $prefix"
        return
    fi
    while IFS= read -r file; do
        run rm -f -- "$file"
        forget_empty "$(dirname "$file")"
    done <"$list"
    run rm -f -- "$list"
    forget_empty "$(dirname "$list")"
    [ "$dry_run" = yes ] || rmdir "$prefix" 2>/dev/null || :
    [ "$dry_run" = yes ] || say "removed cld from $prefix"
}

# Removes folders that have become empty, up to the prefix.
forget_empty() {
    folder=$1
    while [ "$dry_run" = no ] && [ "$folder" != "$prefix" ] && rmdir "$folder" 2>/dev/null; do
        folder=$(dirname "$folder")
    done
}

what_next() {
    # It shows what it would change and asks; without a terminal there is nobody to ask.
    if [ "$yes" = yes ]; then
        "$prefix/bin/cld" setup -y
    elif [ -t 0 ] && [ -t 1 ]; then
        "$prefix/bin/cld" setup || say "later: $prefix/bin/cld setup"
    else
        say "next: $prefix/bin/cld setup"
    fi
    # Last, where it is still on the screen.
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) say "add $prefix/bin to your PATH" ;;
    esac
    case ${SHELL:-} in
        */zsh) say "for completion and cldcd, add to ~/.zshrc: eval \"\$(cld init zsh)\"" ;;
        */fish) say "for cldcd, add to ~/.config/fish/config.fish: cld init fish | source" ;;
        *) say "for completion and cldcd, add to ~/.bashrc: eval \"\$(cld init bash)\"" ;;
    esac
}

case $action in
    build)
        build
        printf '%s\n' "$program"
        ;;
    uninstall) uninstall ;;
    install)
        need_tmux
        # A release archive brings the program along.
        [ -n "$program" ] || [ ! -x "$here/cld" ] || program=$here/cld
        [ -n "$program" ] || build
        install_files
        [ "$dry_run" = no ] || exit 0
        say "installed $prefix/bin/cld, its manual and its completion"
        what_next
        ;;
esac
