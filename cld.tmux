#!/bin/sh
# The tmux plugin manager runs this file. What it loads is for a server whose tmux.conf does not
# load it already, as `cld setup` makes it; the program itself is installed apart.
dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) && exec tmux source-file "$dir/shell/cld.tmux"
