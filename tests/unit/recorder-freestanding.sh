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
