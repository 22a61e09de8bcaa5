# How many sessions wait for you, in front of the prompt.

if not functions --query __cld_user_prompt; and functions --query fish_prompt
    functions --copy fish_prompt __cld_user_prompt
end

function fish_prompt
    # The prompt of the user may show how the last command ended.
    set -l code $status
    set -l count (command cld queue --count 2>/dev/null)
    if string match --quiet --regex '^[1-9][0-9]*$' -- "$count"
        echo -n "[$count waiting] "
    end
    builtin test 0 -eq $code
    or __cld_status $code
    __cld_user_prompt
end

function __cld_status
    return $argv[1]
end
