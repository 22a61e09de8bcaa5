# How to get back to the session that has just ended in this pane.
# shellcheck shell=bash

function __cld_hint() {
    \builtin local code=$? kept id time set_on pid format ended=
    format='#{=8:@meta.claude.session_id}|#{@meta.claude.latest_hook_time}'
    format+='|#{@meta.claude.session_id_set_on}|#{@meta.claude.pid}'
    if [[ -z ${TMUX_PANE-} ]]; then
        \builtin return "$code"
    fi
    kept=$(\command "${CLD_TMUX:-tmux}" display-message -p -t "$TMUX_PANE" "$format" 2>/dev/null) || kept=
    IFS='|' \builtin read -r id time set_on pid <<<"$kept" || \builtin :
    case $id in
        '' | *[!0-9A-Za-z-]*) ;;
        *)
            # One that was killed could not say so.
            if [[ $set_on == SessionEnd ]]; then
                ended="$id $time"
            elif [[ $pid == [1-9]* ]] && ! \builtin kill -0 "$pid" 2>/dev/null; then
                ended="$id $time"
            fi
            ;;
    esac
    # What had ended before this shell began is no news.
    if [[ -n $ended && -n ${__cld_ended+known} && $ended != "${__cld_ended-}" ]]; then
        \builtin printf 'resume with: cld resume %s\n' "$id" >&2
    fi
    __cld_ended=$ended
    \builtin return "$code"
}

__cld_before_prompt __cld_hint
