# The companion of cld for bash. In ~/.bashrc: eval "$(cld init bash)"
# shellcheck shell=bash

\builtin unalias cldcd 2>/dev/null || \builtin :

# Goes to the directory of a session.
function cldcd() {
    \builtin local dir
    if [[ $# -ne 1 ]]; then
        \builtin printf 'cldcd: name one session, as in: cldcd 23e30f82\n' >&2
        \builtin return 2
    fi
    # The dot keeps newlines at the end of the name, which a shell drops.
    dir=$(\command cld show --directory -- "$1" && \builtin printf .) || \builtin return 1
    \builtin cd -- "${dir%$'\n'.}" || \builtin return 1
}

function _cldcd() {
    COMP_LINE="cld show${COMP_LINE#*cldcd}"
    COMP_POINT=$((COMP_POINT + 3))
    COMP_WORDS=(cld show "${COMP_WORDS[@]:1}")
    COMP_CWORD=$((COMP_CWORD + 1))
    _cld
}

\builtin complete -o nosort -F _cldcd cldcd 2>/dev/null || \builtin complete -F _cldcd cldcd

# Runs a function before each prompt, once however often this is read.
function __cld_before_prompt() {
    \builtin local now="${PROMPT_COMMAND[*]-}"
    [[ $now != *"$1"* ]] || \builtin return 0
    if [[ $(\builtin declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
        PROMPT_COMMAND+=("$1")
        \builtin return 0
    fi
    now=${now%"${now##*[!;[:space:]]}"}
    # shellcheck disable=SC2178 # It is a string here.
    PROMPT_COMMAND=${now:+$now; }$1
}
