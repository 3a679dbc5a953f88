#!/bin/sh
# The recorder's core compiles for a machine without a C library, and then needs nothing but perhaps memcpy and memset:
# recorder-freestanding.sh SOURCE-ROOT COMPILER…
set -eu
root=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for how in "" -DMPROF_RECORDER_HALVES; do
	for level in -O0 -O2 -Os; do
		# shellcheck disable=SC2086
		"$@" -std=gnu17 -Wall -Wextra -Wpedantic -Werror -ffreestanding -nostdlib "$level" $how \
			-I "$root/schema" -I "$root/client/recorder" -c "$root/client/recorder/recorder.c" -o "$tmp/recorder.o"
		needs=$(nm -u "$tmp/recorder.o" | awk '$NF != "memcpy" && $NF != "memset" { print $NF }')
		if [ -n "$needs" ]; then
			echo "recorder.c with $level $how needs: $needs"
			exit 1
		fi
		# Nothing global may change: two recorders in one program must not meet.
		state=$(nm "$tmp/recorder.o" | awk '$2 ~ /^[BbDdC]$/ { print $NF }')
		if [ -n "$state" ]; then
			echo "recorder.c with $level $how has state of its own: $state"
			exit 1
		fi
	done
done

# The order of the stores in the object code of a machine that keeps an order only over a fence: of x86's code a fence leaves no trace.
# order FUNCTION: the fences, and the stores that are not to the recorder itself (in x0), each with its offset in the packet.
order() {
	awk -v name="$1:" '
		$1 == name { inside = 1 }
		inside && $1 == "dmb" { printf "%sfence", gap; gap = " " }
		inside && $1 ~ /^st/ && $NF ~ /^#/ && !/\[x0,/ { printf "%s%d", gap, substr($NF, 2); gap = " " }
		inside && $1 == "ret" { exit }' "$tmp/order.s"
}

# An event is released before the size that counts it.  A packet is emptied before anything in it changes.
if command -v clang >/dev/null; then
	cat >"$tmp/order.c" <<-END
		#include "$root/client/recorder/recorder.c"
		void close_event(struct mprof_recorder *r, size_t bytes) { event_close(r, bytes); }
		void turn_packet(struct mprof_recorder *r) { packet_turn(r); }
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
				turns="30 fence 24 fence 28 fence"
			fi
			if [ "$(order close_event)" != "$closes" ] || [ "$(order turn_packet)" != "$turns" ]; then
				echo "recorder.c with $level $how: an event is closed by stores at \"$(order close_event)\" and not \"$closes\"," \
					"a packet turned by \"$(order turn_packet)\" and not \"$turns\""
				exit 1
			fi
		done
	done
fi
