# How many sessions wait for you, in front of the prompt.
# shellcheck shell=bash

function __cld_prompt() {
    \builtin local code=$? count
    PS1=${PS1-}
    PS1=${PS1#"${__cld_segment-}"}
    __cld_segment=
    count=$(\command cld queue --count 2>/dev/null) || count=
    case $count in
        '' | 0 | *[!0-9]*) ;;
        *) __cld_segment="[$count waiting] " ;;
    esac
    PS1=$__cld_segment$PS1
    \builtin return "$code"
}

__cld_before_prompt __cld_prompt
