# Completion of perennial for fish:  perennial completions fish | source
function __perennial_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l candidates ($words[1] complete -- $words 2>/dev/null)
    if test (count $candidates) -gt 0
        printf '%s\n' $candidates
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c perennial -f -a '(__perennial_complete)'
