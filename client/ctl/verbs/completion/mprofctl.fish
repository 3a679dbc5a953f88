# Completion of mprofctl for fish: mprofctl itself lists the candidates.
function __mprofctl_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] $word 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path $word
        else
            echo $line
        end
    end
end
complete -c mprofctl -f -a '(__mprofctl_complete)'
