# Completion of cld for fish. The program itself knows what fits, so this file never goes stale.

function __cld_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor)
    CLD_COMPLETE=(math (count $words) - 1) command cld -- $words 2>/dev/null
end

complete --command cld --erase
complete --command cld --keep-order --no-files --arguments '(__cld_complete)'
