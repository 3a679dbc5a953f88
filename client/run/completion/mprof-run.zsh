#compdef mprof-run
# Completion of mprof-run for zsh: the options come from its help, and a command is behind them.

local line word value
local -a options
local -A values
integer i

while IFS= read -r line; do
	[[ $line == '  --'* ]] || continue
	word=${${=line}[1]}
	value=${${=line}[2]}
	[[ $value =~ '^[A-Z]+$' ]] || value=
	values[$word]=$value
	options+=("$word:${${line#*$word}##*  }")
done < <("${words[1]}" --help 2>/dev/null)

for ((i = 2; i < CURRENT; i++)); do
	word=${(Q)words[i]}
	case $word in
	--) ;;
	-*)
		[[ -n ${values[$word]} ]] || continue
		((++i < CURRENT)) && continue
		[[ ${values[$word]} == DIR ]] && _files -/
		return 0
		;;
	*) break ;;
	esac
done

word=${words[CURRENT]}
if ((i < CURRENT)); then
	# The command completes its own words.
	shift $((i - 1)) words
	((CURRENT -= i - 1))
	_normal
elif [[ $word == --*=* ]]; then
	[[ ${values[${word%%=*}]} == DIR ]] && compset -P '*=' && _files -/
elif [[ $word == -* ]]; then
	_describe -t options 'mprof-run' options
else
	_command_names -e
fi
return 0
