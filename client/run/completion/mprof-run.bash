# Completion of mprof-run for bash: the options come from its help, and a command is behind them.
_mprof_run_offer()
{
	local line

	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done < <(compgen "$@")
}

_mprof_run()
{
	local i option value line word=${COMP_WORDS[COMP_CWORD]}
	local -A values=()

	while read -r option value line; do
		[[ $option == --* ]] || continue
		[[ $value =~ ^[A-Z]+$ ]] || value=
		values[$option]=$value
	done < <("${COMP_WORDS[0]}" --help 2>/dev/null)

	COMPREPLY=()
	[[ $word == = ]] && word=
	# An option, an equals sign and a value are three words.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ;;
		-*)
			value=${values[${COMP_WORDS[i]}]:-}
			[[ $value ]] || continue
			[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
			((++i < COMP_CWORD)) && continue
			[[ $value == DIR ]] && compopt -o filenames 2>/dev/null
			[[ $value == DIR ]] && _mprof_run_offer -d -- "$word"
			return
			;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	elif ((i < COMP_CWORD)); then
		compopt -o filenames 2>/dev/null
		_mprof_run_offer -f -- "$word"
	elif [[ $word == -* ]]; then
		_mprof_run_offer -W "${!values[*]}" -- "$word"
	else
		_mprof_run_offer -c -- "$word"
	fi
}
complete -F _mprof_run mprof-run
