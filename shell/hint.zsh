# How to get back to the session that has just ended in this pane.

function __cld_hint() {
    \builtin local kept id time set_on pid format ended=
    [[ -n ${TMUX_PANE-} ]] || \builtin return 0
    format='#{=8:@meta.claude.session_id}|#{@meta.claude.latest_hook_time}'
    format+='|#{@meta.claude.session_id_set_on}|#{@meta.claude.pid}'
    kept=$(\command "${CLD_TMUX:-tmux}" display-message -p -t "$TMUX_PANE" "$format" 2>/dev/null) || kept=
    IFS='|' \builtin read -r id time set_on pid <<<"$kept" || \builtin :
    if [[ -n $id && $id != *[^0-9A-Za-z-]* ]]; then
        # One that was killed could not say so.
        if [[ $set_on == SessionEnd ]]; then
            ended="$id $time"
        elif [[ $pid == [1-9]* ]] && ! \builtin kill -0 "$pid" 2>/dev/null; then
            ended="$id $time"
        fi
    fi
    # What had ended before this shell began is no news.
    if [[ -n $ended && -n ${__cld_ended+known} && $ended != "${__cld_ended-}" ]]; then
        \builtin print -u2 -r -- "resume with: cld resume $id"
    fi
    \builtin typeset -g __cld_ended=$ended
}

\builtin autoload -Uz add-zsh-hook
add-zsh-hook precmd __cld_hint
