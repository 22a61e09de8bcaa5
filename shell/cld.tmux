# cld in tmux: tabs that stop being red when they are looked at, and what panes and windows show.
#
#   load      source-file /path/to/cld.tmux          after the theme; again is harmless
#   take out  set -g @cld-off 1 ; source-file /path/to/cld.tmux
#
# What it takes from you, set before it is loaded; in brackets what holds otherwise:
#
#   @cld-segments     what is added to your formats [pane window count]
#                       pane    "[▶] 23e30f82 " to pane-border-format (set pane-border-status)
#                       window  "(⏸)" to window-status-format and window-status-current-format
#                       count   "⏸2 ▶3 " to status-right
#   @cld-icons        "ascii" for fonts without the symbols [unicode]
#   @cld-key-next, @cld-key-back, @cld-key-queue, @cld-key-pick
#                     keys after the prefix, such as "N" [none]
#
# In formats of your own, #{E:@cld-pane}, #{E:@cld-window} and #{E:@cld-count} stand for the segments.
#
# All hooks stand at the indexes 990 and 991, so that hooks at other indexes stay as they are. The
# formats named @cld-state, @cld-style and @cld-themed come from `cld hook`, which knows the
# configuration; before the first session there is no window they would be asked about.

%if "#{@cld-off}"

set-hook -gu session-window-changed[990]
set-hook -gu client-session-changed[990]
set-hook -gu window-layout-changed[990]
set-hook -gu session-window-changed[991]
set-hook -gu client-session-changed[991]
set -gu @cld-look
set -gu @cld-active
set -gu @cld-left
set -gu @cld-left-behind
set -su command-alias[990]
set -su command-alias[991]
set -gu @cld-off

# Takes the segments out of the formats. A window or session may have a format of its own, which hides
# the global one; so this is done from one that shows what is to be taken out.
%if "#{||:#{m:3.0*,#{version}},#{m:3.1*,#{version}}}"
set -gF pane-border-format '#{s/..E.@cld-pane.//:pane-border-format}'
set -gF window-status-format '#{s/..E.@cld-window.//:window-status-format}'
set -gF window-status-current-format '#{s/..E.@cld-window.//:window-status-current-format}'
set -gF status-right '#{s/..E.@cld-count.//:status-right}'
%else
if -F '#{m:*@cld-pane*,#{S:#{W:#{pane-border-format}}}}' { run-shell -C "set -gF -t #{s/ .*//:#{S:#{W:#{?#{m:*@cld-pane*,#{pane-border-format}},#{window_id} ,}}}} pane-border-format '##{s/..E.@cld-pane.//:pane-border-format}'" }
if -F '#{m:*@cld-window*,#{S:#{W:#{window-status-format}}}}' { run-shell -C "set -gF -t #{s/ .*//:#{S:#{W:#{?#{m:*@cld-window*,#{window-status-format}},#{window_id} ,}}}} window-status-format '##{s/..E.@cld-window.//:window-status-format}'" }
if -F '#{m:*@cld-window*,#{S:#{W:#{window-status-current-format}}}}' { run-shell -C "set -gF -t #{s/ .*//:#{S:#{W:#{?#{m:*@cld-window*,#{window-status-current-format}},#{window_id} ,}}}} window-status-current-format '##{s/..E.@cld-window.//:window-status-current-format}'" }
if -F '#{m:*@cld-count*,#{S:#{W:#{status-right}}}}' { run-shell -C "set -gF -t #{s/ .*//:#{S:#{W:#{?#{m:*@cld-count*,#{status-right}},#{window_id} ,}}}} status-right '##{s/..E.@cld-count.//:status-right}'" }
%endif

# Gives keys back to what they did before.
if -F '#{@cld-bound-next}#{@cld-bound-back}#{@cld-bound-queue}#{@cld-bound-pick}' { run-shell '\
 for name in next back queue pick; do key=$(tmux show-options -gqv @cld-bound-$name); [ -n "$key" ] || continue;\
 tmux unbind-key "$key"; tmux show-options -gqv @cld-before-$name | tmux source-file -;\
 tmux set-option -gu @cld-bound-$name; tmux set-option -gqu @cld-before-$name; done' }
set -gu @cld-pane
set -gu @cld-window
set -gu @cld-count
set -gu @cld-waits
set -gu @cld-works
set -gu @cld-icon-running
set -gu @cld-icon-stopped
set -gu @cld-icon-ended
set -gu @cld-do

%else

# A window that somebody switches to is looked at: what waits there is no longer shown in red. These
# hooks fire on real switches only, not on another pane, a click or the terminal coming to front.
%if "#{||:#{m:3.0*,#{version}},#{m:3.1*,#{version}}}"

# Before 3.2 tmux cannot do this by itself.
set-hook -g session-window-changed[990] "if -F '#{&&:#{session_attached},#{==:#{@claude-state},waiting}}' { run-shell -b '#{E:@cld-program} dismiss #{window_id} >/dev/null 2>&1 || :' }"
set-hook -g client-session-changed[990] "if -F '#{&&:#{session_attached},#{==:#{@claude-state},waiting}}' { run-shell -b '#{E:@cld-program} dismiss #{window_id} >/dev/null 2>&1 || :' }"

%else

# Shows at a window what its panes do now, and gives the window its own look back when none of them
# has a session. The word that stands for it is needed only while the hooks are set; tmux 3.2 reads
# what stands in braces only when a hook runs, and needs it then.
set -g @cld-look "\
set -wF @claude-state '#{?#{P:#{@meta.claude.session_id}},#{E:@cld-state},}' ;\
set -wF window-status-style '#{E:@cld-style}' ;\
set -wF window-status-current-style '#{E:@cld-style}' ;\
if -F '#{?#{@claude-state},#{E:@cld-themed},1}' {\
 set -wu window-status-style ; set -wu window-status-current-style ;\
 if -F '#{@cld-own-style}' { set -wF window-status-style '#{@cld-own-style}' } ;\
 if -F '#{@cld-own-current-style}' { set -wF window-status-current-style '#{@cld-own-current-style}' } } ;\
if -F '#{?#{@claude-state},0,1}' {\
 set -wu @claude-state ; set -wu @cld-own-style ; set -wu @cld-own-current-style }"
set -sF command-alias[991] 'cld-look=#{@cld-look}'

set-hook -g session-window-changed[990] "if -F '#{&&:#{session_attached},#{==:#{@claude-state},waiting}}' { set -wU @claude-attn ; cld-look }"
set-hook -g client-session-changed[990] "if -F '#{&&:#{session_attached},#{==:#{@claude-state},waiting}}' { set -wU @claude-attn ; cld-look }"

# A pane was killed or moved. When it was the active one, tmux names the window but runs the hook
# for another. The window may be gone with its last pane; tmux 3.2 crashes on a hook for such a one.
set-hook -g window-layout-changed[990] "if -F '#{==:#{window_id},#{hook_window}}' {\
 if -F '#{&&:#{@claude-state},#{!=:#{@claude-state},#{?#{P:#{@meta.claude.session_id}},#{E:@cld-state},}}}' { cld-look } } {\
 run-shell -C \"if -F -t #{hook_window} '##{@claude-state}' 'set-hook -R -t #{hook_window} @cld-look'\" }"

if -F '#{?#{m:3.2*,#{version}},0,1}' 'set -su command-alias[991]'

# Whoever leaves a window may have approved, denied or interrupted something there, which no hook of
# Claude Code tells. So a window where Claude worked or asked is looked at once more, when Claude's own
# list has had the time to follow; no process is started for any other one.
set -g @cld-active '#{P:#{?#{@meta.claude.asking},y,#{?#{==:#{@meta.claude.activity},running},y,}}}'
set -g @cld-left '#{W:#{?window_last_flag,#{?#{E:@cld-active},#{window_id},},}}'
set -g @cld-left-behind '#{S:#{?#{==:#{session_name},#{client_last_session}},#{W:#{?window_active,#{?#{E:@cld-active},#{window_id},},}},}}'
set-hook -g session-window-changed[991] "if -F '#{&&:#{session_attached},#{E:@cld-left}}' { run-shell -b -d 1 '#{E:@cld-program} mend #{E:@cld-left} >/dev/null 2>&1 || :' }"
set-hook -g client-session-changed[991] "if -F '#{E:@cld-left-behind}' { run-shell -b -d 1 '#{E:@cld-program} mend #{E:@cld-left-behind} >/dev/null 2>&1 || :' }"

%endif

# What is shown follows from what stands in the panes at that moment, wherever they were moved.
%if "#{==:#{@cld-icons},ascii}"
set -g @cld-icon-running '>'
set -g @cld-icon-stopped '='
set -g @cld-icon-ended 'x'
%else
set -g @cld-icon-running '▶'
set -g @cld-icon-stopped '⏸'
set -g @cld-icon-ended '■'
%endif
set -g @cld-pane '#{?#{@meta.claude.session_id},[#{?#{==:#{@meta.claude.status},running},#{@cld-icon-running},#{?#{==:#{@meta.claude.status},stopped},#{@cld-icon-stopped},#{?#{==:#{@meta.claude.session_id_set_on},SessionEnd},#{@cld-icon-ended},?}}}] #{=8:@meta.claude.session_id} ,}'
set -g @cld-window '#{?#{m:*s*,#{P:#{?#{==:#{@meta.claude.status},stopped},s,}}},(#{@cld-icon-stopped}),}'
# A letter for each session that waits, or works. A window that several sessions show counts once.
set -g @cld-waits '#{S:#{W:#{?#{@claude-state},#{?#{?#{==:#{session_name},#{window_linked_sessions_list}},1,#{==:#{session_name},#{s/,.*//:window_linked_sessions_list}}},#{P:#{?#{@meta.claude.asking}#{@meta.claude.finished},w,}},},}}}'
set -g @cld-works '#{S:#{W:#{?#{@claude-state},#{?#{?#{==:#{session_name},#{window_linked_sessions_list}},1,#{==:#{session_name},#{s/,.*//:window_linked_sessions_list}}},#{P:#{?#{@meta.claude.asking}#{@meta.claude.finished},,#{?#{==:#{@meta.claude.activity},running},r,}}},},}}}'
set -g @cld-count '#{?#{E:@cld-waits},#{@cld-icon-stopped}#{n:#{E:@cld-waits}} ,}#{?#{E:@cld-works},#{@cld-icon-running}#{n:#{E:@cld-works}} ,}'

# Adds the segments to the formats, unless they stand there. A window or session may have a format of
# its own, so all are asked.
if -F '#{&&:#{m:* pane *, #{?#{@cld-segments},#{@cld-segments},pane window count} },#{?#{m:*@cld-pane*,#{pane-border-format}#{S:#{W:#{pane-border-format}}}},0,1}}' 'set -ga pane-border-format "#{E:@cld-pane}"'
if -F '#{&&:#{m:* window *, #{?#{@cld-segments},#{@cld-segments},pane window count} },#{?#{m:*@cld-window*,#{window-status-format}#{S:#{W:#{window-status-format}}}},0,1}}' 'set -ga window-status-format "#{E:@cld-window}"'
if -F '#{&&:#{m:* window *, #{?#{@cld-segments},#{@cld-segments},pane window count} },#{?#{m:*@cld-window*,#{window-status-current-format}#{S:#{W:#{window-status-current-format}}}},0,1}}' 'set -ga window-status-current-format "#{E:@cld-window}"'
if -F '#{&&:#{m:* count *, #{?#{@cld-segments},#{@cld-segments},pane window count} },#{?#{m:*@cld-count*,#{status-right}#{S:#{W:#{status-right}}}},0,1}}' 'set -ga status-right "#{E:@cld-count}"'

# Binds the keys; what a key did before is kept (tmux 3.7 does not list a single one). @cld-do is what they run: cld as the last session has
# named it, else the one that is found.
set -g @cld-do '#{?#{@cld-program},#{E:@cld-program},cld}'
if -F '#{@cld-key-next}#{@cld-key-back}#{@cld-key-queue}#{@cld-key-pick}#{@cld-bound-next}#{@cld-bound-back}#{@cld-bound-queue}#{@cld-bound-pick}' { run-shell -b '\
 for name in next back queue pick; do key=$(tmux show-options -gqv @cld-key-$name); was=$(tmux show-options -gqv @cld-bound-$name);\
 [ "$key" = "$was" ] && continue;\
 if [ -n "$was" ]; then tmux unbind-key "$was"; tmux show-options -gqv @cld-before-$name | tmux source-file -; tmux set-option -gu @cld-bound-$name; tmux set-option -gqu @cld-before-$name; fi;\
 [ -n "$key" ] || continue;\
 tmux set-option -g @cld-before-$name "$(tmux list-keys -T prefix | awk -v key="$key" "\$(\$2 == \"-r\" ? 5 : 4) == key")"; tmux set-option -g @cld-bound-$name "$key";\
 case $name in\
 next | back) tmux bind-key "$key" run-shell -b "##{E:@cld-do} $name --client ##{q:client_name} || :";;\
 *) what=pick; [ $name = pick ] || what="pick --waiting";\
 tmux bind-key "$key" run-shell -b "tmux display-popup -c ##{q:client_name} -w 80% -h 80% -E ##{E:@cld-do} $what --client ##{q:client_name} || :";; esac; done' }

%endif
