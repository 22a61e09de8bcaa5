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
    # rustup has just been installed, and this shell is older.
    command -v cargo >/dev/null 2>&1 || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    command -v cargo >/dev/null 2>&1 || fail "cargo is missing; install Rust first: https://rustup.rs"
    wanted=$(sed -n 's/^rust-version = "1\.\([0-9]*\)"/\1/p' "$here/Cargo.toml")
    found=$(rustc --version | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
    if [ -n "$found" ] && [ "$found" -lt "$wanted" ]; then
        newer="try: rustup update"
        command -v rustup >/dev/null 2>&1 || newer="install a newer one: https://rustup.rs"
        fail "Rust 1.$wanted is needed, this is 1.$found; $newer"
    fi
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

# Rust links with it. The one that macOS has at first only tells how to get the real one.
has_linker() {
    cc --version >/dev/null 2>&1
}

has_tmux() {
    command -v "${CLD_TMUX:-tmux}" >/dev/null 2>&1
}

# The names are those of packages.
missing_of() {
    for package in "$@"; do
        case $package in
            gcc) has_linker || echo gcc ;;
            tmux) has_tmux || echo tmux ;;
        esac
    done
}

# What is missing of the named is installed by the system's own packages, after asking unless this is
# root anyway.
need_packages() {
    # shellcheck disable=SC2046 # One word for each.
    set -- $(missing_of "$@")
    [ $# -gt 0 ] || return 0
    missing=$*
    choose_command
    if [ "$dry_run" = yes ]; then
        say "would run: $install"
        return
    fi
    [ "$needs_root" = no ] || fail "this machine lacks $missing. As root, run this, and then this script again: $install"
    if [ "$asks" = yes ]; then
        agreed "This machine lacks $missing. Run \`$install\`?" ||
            fail "this machine lacks $missing. Run this, and then this script again: $install"
    fi
    say "$install"
    sh -c "$install" && return
    [ -n "$upgrade" ] || fail "$missing could not be installed; install it and run this again"
    upgrade_all
}

# The command that installs what is missing.
choose_command() {
    case $missing in
        gcc*) [ "$(uname -s)" != Darwin ] || fail "a linker is missing; run \`xcode-select --install\`, and then this again" ;;
    esac
    as_root='' asks=no needs_root=no upgrade=''
    if [ "$(id -u)" -ne 0 ]; then
        asks=yes
        if command -v sudo >/dev/null 2>&1; then as_root='sudo '; else needs_root=yes; fi
    fi
    if command -v apt-get >/dev/null 2>&1; then
        # Debian's compiler merely recommends what every program is linked with.
        case $missing in gcc*) missing="gcc libc6-dev${missing#gcc}" ;; esac
        # A fresh Debian knows no package before it has a list of them. Where one of many sources cannot
        # be read, the others may do.
        install="${as_root}apt-get update -qq; ${as_root}apt-get install -y $missing"
    elif command -v dnf >/dev/null 2>&1; then
        install="${as_root}dnf install -y $missing"
    elif command -v pacman >/dev/null 2>&1; then
        install="${as_root}pacman -S --noconfirm $missing"
        upgrade="${as_root}pacman -Syu --noconfirm $missing"
    elif command -v brew >/dev/null 2>&1; then
        needs_root=no
        install="brew install $missing"
    else
        fail "this machine lacks $missing, and no package manager is known; install it and run this again"
    fi
}

# Arch supports no upgrade of a part: a list of packages that is missing, or older than the mirrors, can
# only be renewed together with everything that is installed. That is more than to install a package, so
# root is asked, too.
upgrade_all() {
    agreed "Where the list of packages is missing or too old, Arch only upgrades as a whole. Run \`$upgrade\`?" ||
        fail "where the list of packages is missing or too old, run this, and then this script again: $upgrade"
    sh -c "$upgrade" || fail "$missing could not be installed; install it and run this again"
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
    say "for completion and cldcd in your shell: $prefix/bin/cld setup --shell"
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) say "add $prefix/bin to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
}

case $action in
    build)
        need_rust
        need_packages gcc
        build
        printf '%s\n' "$program"
        ;;
    uninstall) uninstall ;;
    install)
        # A release archive brings the program along.
        [ -n "$program" ] || [ ! -x "$here/cld" ] || program=$here/cld
        if [ -n "$program" ]; then
            need_packages tmux
        else
            need_rust
            need_packages gcc tmux
            build
        fi
        install_files
        [ "$dry_run" = no ] || exit 0
        say "installed $prefix/bin/cld, its manual and its completion"
        what_next
        ;;
esac
