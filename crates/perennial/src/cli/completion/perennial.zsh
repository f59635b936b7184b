#compdef perennial
# Completion of perennial for zsh:  perennial completions zsh > "${fpath[1]}/_perennial"
_perennial() {
    local line word
    local -a candidates
    for line in "${(@f)$("${words[1]/#\~/$HOME}" complete -- "${(@)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*}
        candidates+=("${word//:/\\:}:${line#*$'\t'}")
    done
    if (( ${#candidates} )); then
        _describe -V perennial candidates
    else
        _files
    fi
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
    _perennial "$@"
else
    compdef _perennial perennial
fi
