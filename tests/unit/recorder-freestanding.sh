#!/bin/sh
# Compile the recorder's core for a machine without a C library, and check that it then needs at
# most memcpy and memset: recorder-freestanding.sh SOURCE-ROOT COMPILER…
#
# Debian's cross compilers for Arm, where they are installed, compile it, too.
set -eu
root=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# object HOW COMPILER…: compile and check with the further option HOW. Return false on a fault.
object() {
	how=$1
	shift
	"$@" -std=gnu17 -Wall -Wextra -Wpedantic -Werror -ffreestanding -nostdlib $how \
		-I "$root/schema" -I "$root/client/recorder" -c "$root/client/recorder/recorder.c" -o "$tmp/recorder.o" || return 1
	needs=$(nm -u "$tmp/recorder.o" | awk '$NF != "memcpy" && $NF != "memset" { print $NF }')
	if [ -n "$needs" ]; then
		echo "recorder.c by $* with $how needs: $needs"
		return 1
	fi
	# No global data may change: two recorders in one program are independent.
	state=$(nm "$tmp/recorder.o" | awk '$2 ~ /^[BbDdC]$/ { print $NF }')
	if [ -n "$state" ]; then
		echo "recorder.c by $* with $how has state of its own: $state"
		return 1
	fi
}

# objects COMPILER…: check each form of the recorder at each level.
objects() {
	# Atomic additions by functions of libgcc would need a C library.
	case $("$@" -dumpmachine) in aarch64-*) set -- "$@" -mno-outline-atomics ;; esac
	for level in -O0 -O2 -Os; do
		object "$level" "$@"
		object "$level -DMPROF_RECORDER_HALVES" "$@"
	done
}

objects "$@"
# The second one compiles for processors of 32 bits that cannot divide.
for cross in aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc; do
	! command -v $cross >/dev/null || objects $cross
done

# Check the order of stores in object code for aarch64, which keeps an order only over a fence. A
# fence leaves no trace in x86 code. order FUNCTION: print the fences, and the stores that are not
# to the recorder itself (in x0), each with its offset in the packet.
order() {
	awk -v name="$1:" '
		$1 == name { inside = 1 }
		inside && $1 == "dmb" { printf "%sfence", gap; gap = " " }
		inside && $1 ~ /^st/ && $NF ~ /^#/ && !/\[x0,/ { printf "%s%d", gap, substr($NF, 2); gap = " " }
		inside && $1 == "ret" { exit }' "$tmp/order.s"
}

# The recorder releases an event before the size that counts it, and empties a packet before it
# changes anything in it.
if command -v clang >/dev/null; then
	cat >"$tmp/order.c" <<-END
		#include "$root/client/recorder/recorder.c"
		void close_event(struct mprof_recorder *r, size_t bytes) { event_publish(r, bytes); }
	END
	for level in -O1 -O2 -Os; do
		for how in "" -DMPROF_RECORDER_HALVES; do
			# shellcheck disable=SC2086
			clang --target=aarch64-linux-gnu -std=gnu17 -ffreestanding "$level" $how -S \
				-I "$root/schema" -I "$root/client/recorder" "$tmp/order.c" -o "$tmp/order.s"
			closes="fence 24"
			turns="24 fence"
			if [ -n "$how" ]; then
				closes="fence 24 fence 28"
				turns="24 fence 28 fence"
			fi
			if [ "$(order close_event)" != "$closes" ] || [ "$(order packet_turn)" != "$turns" ]; then
				echo "recorder.c with $level $how: an event is closed by stores at \"$(order close_event)\" and not \"$closes\"," \
					"a packet turned by \"$(order packet_turn)\" and not \"$turns\""
				exit 1
			fi
		done
	done
fi
