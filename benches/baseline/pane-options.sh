#!/usr/bin/env bash
# What one writes in an evening: a jq for each field, a tmux for each option.
[ -n "$TMUX_PANE" ] || exit 0
payload=$(cat)
field() { printf '%s' "$payload" | jq -r ".$1 // empty"; }
put() { tmux set-option -pt "$TMUX_PANE" "@baseline.$1" "$2"; }
event=$(field hook_event_name)
put session_id "$(field session_id)"
put session_dir "$(field cwd)"
case $event in
    UserPromptSubmit | PreToolUse | PostToolUse) put status running ;;
    Stop | Notification | PermissionRequest) put status stopped ;;
esac
put latest_hook_event "$event"
put latest_hook_time "$(date +%s)"
exit 0
