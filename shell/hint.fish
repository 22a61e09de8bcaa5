# How to get back to the session that has just ended in this pane.

function __cld_hint --on-event fish_prompt
    set -q TMUX_PANE
    or return 0
    set -l tmux tmux
    set -q CLD_TMUX
    and set tmux $CLD_TMUX
    set -l format '#{=8:@meta.claude.session_id}|#{@meta.claude.latest_hook_time}|#{@meta.claude.session_id_set_on}|#{@meta.claude.pid}'
    set -l kept (string split '|' -- (command $tmux display-message -p -t $TMUX_PANE $format 2>/dev/null))
    set -l ended
    if string match --quiet --regex '^[0-9A-Za-z-]+$' -- "$kept[1]"
        # One that was killed could not say so.
        if test "$kept[3]" = SessionEnd
            set ended "$kept[1] $kept[2]"
        else if string match --quiet --regex '^[1-9][0-9]*$' -- "$kept[4]"; and not kill -0 $kept[4] 2>/dev/null
            set ended "$kept[1] $kept[2]"
        end
    end
    # What had ended before this shell began is no news.
    if set -q ended[1]; and set -q __cld_ended; and test "$ended" != "$__cld_ended"
        echo "resume with: cld resume $kept[1]" >&2
    end
    set -g __cld_ended $ended
end
