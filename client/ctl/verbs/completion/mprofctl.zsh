#compdef mprofctl
# Completion of mprofctl for zsh: mprofctl itself lists the candidates.

local line word what files
local -a found

while IFS= read -r line; do
	if [[ $line == :files ]]; then
		files=1
		continue
	fi
	word=${line%%$'\t'*}
	what=${line#*$'\t'}
	found+=("${word//:/\\:}${what:+:$what}")
done < <("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)

(( $#found )) && _describe -t values 'mprofctl' found
[[ -n $files ]] && _files
return 0
