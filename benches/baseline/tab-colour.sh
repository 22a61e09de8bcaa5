#!/usr/bin/env bash
# The tab colour alone: one jq, and as few calls of tmux as a script gets away with.
[ -n "$TMUX_PANE" ] || exit 0
case $(jq -r '.hook_event_name // empty') in
    UserPromptSubmit | PreToolUse | PostToolUse) state=running colour='#6699cc' ;;
    Stop | Notification | PermissionRequest) state=waiting colour='#ec5f67' ;;
    *) exit 0 ;;
esac
[ "$(tmux show-options -wqvt "$TMUX_PANE" @baseline-state)" = "$state" ] && exit 0
tmux set-option -wt "$TMUX_PANE" @baseline-state "$state"
tmux set-option -wt "$TMUX_PANE" window-status-style "fg=$colour"
tmux set-option -wt "$TMUX_PANE" window-status-current-style "fg=$colour"
exit 0
