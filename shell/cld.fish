# The companion of cld for fish. In ~/.config/fish/config.fish: cld init fish | source

# Goes to the directory of a session.
function cldcd --description 'Go to the directory of a session'
    if test (count $argv) -ne 1
        echo 'cldcd: name one session, as in: cldcd 23e30f82' >&2
        return 2
    end
    set -l dir (command cld show --directory -- $argv[1] | string collect)
    or return 1
    builtin cd -- $dir
end

function __cldcd_complete
    set -l word (commandline --current-token --cut-at-cursor)
    CLD_COMPLETE=2 command cld -- cld show "$word" 2>/dev/null
end

complete --command cldcd --erase
complete --command cldcd --keep-order --no-files --arguments '(__cldcd_complete)'
