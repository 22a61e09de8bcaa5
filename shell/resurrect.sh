#!/bin/sh
# Lets tmux-resurrect bring Claude Code back with the session of each pane, instead of a new one:
#
#   set -g @resurrect-processes 'claude'
#   set -g @resurrect-hook-post-save-layout '/path/to/resurrect.sh'
#
# tmux-resurrect runs it with the file it has just written. There, the command of every pane in which
# a session is open becomes one that resumes the session.
set -eu

tab=$(printf '\t')
tmux -u list-panes -a -F "open$tab#{session_name}$tab#{window_index}$tab#{pane_index}$tab#{?#{@meta.claude.status},#{@meta.claude.session_id},}" |
    awk -F '\t' -v OFS='\t' '
        $1 == "open" { if ($5 != "") id[$2, $3, $4] = $5; next }
        $1 == "pane" && ($2, $3, $6) in id { $11 = ":claude --resume " id[$2, $3, $6] }
        { print }
    ' - "$1" >"$1.new"
mv "$1.new" "$1"
