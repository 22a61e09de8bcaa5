# The companion of cld for zsh. In ~/.zshrc, after compinit: eval "$(cld init zsh)"

\builtin unalias cldcd 2>/dev/null || \builtin :

# Goes to the directory of a session.
function cldcd() {
    \builtin local dir
    if (( $# != 1 )); then
        \builtin print -u2 -r -- 'cldcd: name one session, as in: cldcd 23e30f82'
        \builtin return 2
    fi
    # The dot keeps newlines at the end of the name, which a shell drops.
    dir=$(\command cld show --directory -- "$1" && \builtin print -n .) || \builtin return 1
    \builtin cd -- "${dir%$'\n'.}"
}

function _cldcd() {
    words=(cld show "${(@)words[2,-1]}")
    (( CURRENT += 1 ))
    _cld
}

if (( ${+functions[compdef]} )); then
    compdef _cldcd cldcd
fi
