# Completion of perennial for bash:  source <(perennial completions bash)
_perennial() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${1/#\~/$HOME}" complete -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -o default -F _perennial perennial
