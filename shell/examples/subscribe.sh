#!/bin/sh
# Prints every hook event of the hub as a line of JSON, and comes back after a break without losing
# one. Needs curl, and the Unix socket of the hub.
set -u

last=
newline=$(printf '\n.')
newline=${newline%.}
pipe=$(mktemp -u) && mkfifo -m 600 "$pipe" || exit 1
trap 'rm -f "$pipe"' EXIT
trap 'exit 130' INT TERM

while :; do
    curl -sN --unix-socket "$(cld hub status --socket)" \
        ${last:+-H "Last-Event-ID: $last"} http://cld/events >"$pipe" &
    kind='' data=''
    while IFS= read -r line; do
        case $line in
            'id: '*) last=${line#id: } ;;
            'event: '*) kind=${line#event: } ;;
            'data: '*) data=${data:+$data$newline}${line#data: } ;;
            '')
                [ "$kind" != hook ] || printf '%s\n' "$data"
                kind='' data=''
                ;;
        esac
    done <"$pipe"
    sleep 1
done
