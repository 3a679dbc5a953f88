# Completion of mprofctl for bash: mprofctl itself lists the candidates.
_mprofctl()
{
	local word line files=
	local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")

	COMPREPLY=()
	word=${COMP_WORDS[COMP_CWORD]}
	[[ $word == = ]] && word=
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			files=1
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
	if [[ $files ]]; then
		compopt -o filenames 2>/dev/null
		while IFS= read -r line; do
			COMPREPLY+=("$line")
		done < <(compgen -f -- "$word")
	fi
}
complete -F _mprofctl mprofctl
