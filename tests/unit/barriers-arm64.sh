#!/bin/sh
# Compile the recorder and the ring's loads for arm64, and check that the barriers of docs/ring-memory.md are in
# the code: barriers-arm64.sh SOURCE-ROOT. Skipped without Debian's cross compiler and its C
# library.
set -eu
root=$1
target=aarch64-linux-gnu
command -v $target-gcc >/dev/null || {
	echo "SKIP: $target-gcc is not installed"
	exit 77
}
echo '#include <errno.h>' | $target-gcc -E - >/dev/null 2>&1 || {
	echo "SKIP: libc6-dev-arm64-cross is not installed"
	exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# compile SOURCE OPTION…: disassemble SOURCE to $tmp/code, one instruction a line, without addresses.
compile() {
	source=$1
	shift
	$target-gcc -std=gnu17 -D_GNU_SOURCE -mno-outline-atomics -I "$root/schema" -I "$root/client/recorder" -I "$root/daemon/ring/include" \
		-I "$root/daemon/common/clock" -I "$root/include" -c "$root/$source" -o "$tmp/object" "$@"
	$target-objdump -d --no-show-raw-insn "$tmp/object" >"$tmp/code"
}

# instructions FUNCTION: print the barriers of FUNCTION, and its other stores and loads, in their order.
instructions() {
	awk -v name="<$1>:" '
		/^[0-9a-f]+ </ { inside = $2 == name; found = found || inside; next }
		inside && $2 ~ /^(dmb|st[a-z]*r[bh]?|stp|ld[a-z]*r[bh]?|ldp|ret)$/ { print $2, $3 }
		END { exit !found }
	' "$tmp/code"
}

# want FUNCTION PATTERN WHAT: the lines of instructions(), joined by ";", match the extended expression PATTERN.
want() {
	if ! code=$(instructions "$1"); then
		echo "$source has no function $1"
		failed=1
	elif ! printf '%s' "$code" | tr '\n' ';' | grep -Eq "$2"; then
		echo "$source, $1(): no $3"
		printf '%s\n' "$code"
		failed=1
	fi
}

# As Debian compiles.
compile client/recorder/recorder.c -O2 -ffreestanding
want packet_turn 'str x[0-9]+,.*;dmb ish;' "release behind the size of an emptied packet"
want packet_begin 'stu?r x[0-9]+,.*;dmb ish;.*stu?r ' "release behind the first timestamp"
want record_one 'st[a-z]* .*;dmb ish;.*str x[0-9]+,' "release between an event and its size"
want record_two 'st[a-z]* .*;dmb ish;.*str x[0-9]+,' "release between an event and its size"
want mprof_recorder_init 'dmb ish;.*str .*;dmb ish;' "release around the magics"
compile client/recorder/recorder.c -O2 -ffreestanding -DMPROF_RECORDER_HALVES
want record_one 'dmb ish;.*str w[0-9]+,.*;dmb ish;.*strh ' "release between the halves of a size"
want packet_turn 'str w[0-9]+,.*;dmb ish;.*strh .*;dmb ish;' "release between the halves of an emptied packet's size, and behind them"
compile daemon/ring/memory.c -O2
want array_load 'ld[a-z]* .*;dmb ishld;' "acquire behind the loads"
want file_load 'dmb ishld;' "acquire behind the loads"
exit $failed
