# Completion of cld for bash. The program itself knows what fits, so this file never goes stale.
# shellcheck shell=bash

_cld() {
    \builtin local before word line value shown cut=''
    \builtin local -a words values helps
    \builtin local -i i last=0

    # bash breaks words at : and =, the program wants them whole: what no blank separates is one.
    before=${COMP_LINE:0:COMP_POINT}
    words=("${COMP_WORDS[0]}")
    before=${before#*"${COMP_WORDS[0]}"}
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            word=${before#"${before%%[![:space:]]*}"}
        fi
        if ((last == 0)) || [[ $before == [[:space:]]* ]]; then
            last+=1
            words[last]=$word
        else
            words[last]+=$word
        fi
        before=${before#"${before%%[![:space:]]*}"}
        before=${before#"$word"}
    done

    values=()
    helps=()
    while IFS= \builtin read -r line; do
        values+=("${line%%$'\t'*}")
        helps+=("${line#*$'\t'}")
    done < <(CLD_COMPLETE=$last \command cld -- "${words[@]}" 2>/dev/null)

    # What bash has taken for earlier words must not be repeated.
    word=${words[last]}
    if [[ $word == *[:=]* ]]; then
        [[ ${COMP_WORDBREAKS-} == *:* && $word == *:* ]] && cut=${word%:*}:
        [[ ${COMP_WORDBREAKS-} == *=* && $word == *=* && ${word%=*}= == "$cut"* ]] && cut=${word%=*}=
    fi

    COMPREPLY=()
    for ((i = 0; i < ${#values[@]}; i++)); do
        value=${values[i]#"$cut"}
        case ${COMP_TYPE-9} in
            33 | 63 | 64)
                # A list of several is only looked at, so it may say what they are.
                shown=$value
                if ((${#values[@]} > 1)) && [[ ${helps[i]} != "" ]]; then
                    \builtin printf -v shown '%-14s %s' "$value" "${helps[i]}"
                    shown=${shown:0:${COLUMNS:-80}-3}
                fi
                COMPREPLY+=("$shown")
                ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done
    if ((${#values[@]} == 1)); then
        case $value in
            */ | *=) \builtin compopt -o nospace 2>/dev/null ;;
            *)
                \builtin printf -v value '%q' "$value"
                COMPREPLY=("$value")
                ;;
        esac
    fi
    \builtin return 0
}

# Older ones cannot keep the order, in which the sessions that wait come first.
\builtin complete -o nosort -F _cld cld 2>/dev/null || \builtin complete -F _cld cld
