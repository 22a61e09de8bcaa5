# How many sessions wait for you, in front of the prompt.

function __cld_prompt() {
    \builtin local count
    PROMPT=${${PROMPT-}#"${__cld_segment-}"}
    \builtin typeset -g __cld_segment=
    count=$(\command cld queue --count 2>/dev/null) || count=
    if [[ $count == [1-9]* && $count != *[^0-9]* ]]; then
        __cld_segment="[$count waiting] "
    fi
    PROMPT=$__cld_segment$PROMPT
}

\builtin autoload -Uz add-zsh-hook
add-zsh-hook precmd __cld_prompt
