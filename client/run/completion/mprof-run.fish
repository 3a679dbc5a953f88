# Completion of mprof-run for fish: the options come from its help, and a command is behind them.
set -l with_value
for line in (mprof-run --help 2>/dev/null)
    set -l part (string match -r '^  --([a-z-]+) ([A-Z]*) *(.*)' -- $line)
    or continue
    set -l option -c mprof-run -n __mprof_run_before_command -l $part[2] -d $part[4]
    switch $part[3]
        case DIR
            complete $option -x -a '(__fish_complete_directories)'
        case '?*'
            complete $option -x
        case '*'
            complete $option
    end
    test -n "$part[3]"; and set -a with_value --$part[2]
end

# Succeed while the words are options of mprof-run.
function __mprof_run_before_command -V with_value
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        string match -q -- '--?*' $words[1]; or return 1
        contains -- $words[1] $with_value; and set -e words[1]
        set -e words[1]
    end
end

# The first argument is empty, because the function takes a long option there for one of its own.
complete -c mprof-run -x -a "(__fish_complete_subcommand '' $with_value)"
