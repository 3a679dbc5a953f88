#!/bin/sh
# Check that calls of the recorder leave no instruction and no symbol if MPROF_RECORDER_OFF is defined, as C
# and as C++, and that all headers are clean as both: recorder-off.sh SOURCE-ROOT C-COMPILER...
set -eu
root=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# WITH has all calls, WITHOUT has none of them. Compiled out, both are the same code.
cat >"$tmp/calls.c" <<-'END'
	#include <mprof/recorder.h>

	#ifdef __cplusplus
	extern "C" {
	#endif
	int program(struct mprof_recorder *r, void *memory, int64_t n, const char *text, size_t bytes);
	uint64_t side_effects(uint64_t *n);
	static uint64_t effect(uint64_t *n)
	{
		return ++*n;
	}

	int program(struct mprof_recorder *r, void *memory, int64_t n, const char *text, size_t bytes)
	{
	#ifdef CALLS
		static const struct mprof_text word = MPROF_TEXT("word");

		if (mprof_recorder_init(r, memory, bytes, 4, NULL, NULL) != MPROF_RECORDER_OK)
			return 1;
		(void)mprof_recorder_continue(r, memory, bytes, 4, NULL, NULL);
		mprof_recorder_compatible(r, true);
		mprof_recorder_at(r, 5);
		if (mprof_recorder_on(r))
			mprof_recorder_gc(r, mprof_recorder_dropped(r) + mprof_recorder_sequence(r));
		mprof_recorder_creates(r, n, MPROF_THREAD_Task);
		mprof_recorder_read(r, n, n + 1);
		mprof_recorder_try_read(r, n, n + 1);
		mprof_recorder_fulfills(r, n);
		mprof_recorder_fails(r, n, text, bytes);
		mprof_recorder_becomes(r, n, n + 1);
		mprof_recorder_label(r, n, text, bytes);
		mprof_recorder_label_text(r, n, &word);
		mprof_recorder_should_resolve(r, n);
		mprof_recorder_increase(r, n, text, bytes);
		mprof_recorder_increase_text(r, n, &word);
		mprof_recorder_counter(r, n, text, bytes);
		mprof_recorder_counter_text(r, n, &word);
		mprof_recorder_duration(r, n, 5, text, bytes);
		mprof_recorder_duration_text(r, n, 5, &word);
		mprof_recorder_state_text(r, n, 5, &word);
		mprof_recorder_switch(r, n);
		mprof_recorder_suspend(r);
		mprof_recorder_gc(r, 5);
		mprof_recorder_signal(r, n, n + 1);
		mprof_recorder_read_later(r, n, n + 1);
		mprof_recorder_signal_noswitch(r, mprof_recorder_current(r), n + 1);
		mprof_recorder_stop(r);
	#endif
		(void)r;
		(void)memory;
		(void)n;
		(void)text;
		return (int)bytes + 1;
	}

	/* The arguments are not evaluated. */
	uint64_t side_effects(uint64_t *n)
	{
	#ifdef CALLS
		mprof_recorder_gc((struct mprof_recorder *)0, effect(n));
	#endif
		(void)effect;
		return *n;
	}
	#ifdef __cplusplus
	}
	#endif
END

# code OBJECT: print the instructions, without addresses and the name of the file.
code() {
	objdump -d --no-show-raw-insn "$1" | sed -e '/file format/d' -e 's/^ *[0-9a-f]*:[[:space:]]*//' -e 's/^[0-9a-f]* </</'
}

languages=c
# The compiler of C++ is a package of its own, which a distributor's build need not have.
! echo | "$@" -x c++ -fsyntax-only - 2>/dev/null || languages="c c++"
for language in $languages; do
	standard=gnu17
	[ "$language" = c ] || standard=gnu++17
	for header in "$root"/client/recorder/mprof/*.h; do
		for off in "" -DMPROF_RECORDER_OFF; do
			# shellcheck disable=SC2086
			echo "#include <mprof/${header##*/}>" |
				"$@" -x "$language" -std=$standard -Wall -Wextra -Wpedantic -Wconversion -Werror $off -fsyntax-only \
					-I "$root/schema" -I "$root/client/recorder" - || {
				echo "$header is not clean as $language $off"
				exit 1
			}
		done
	done
	for level in -O0 -O1 -O2 -Os; do
		for calls in "" -DCALLS; do
			# shellcheck disable=SC2086
			"$@" -x "$language" -std=$standard -Wall -Wextra -Wpedantic -Werror -Wno-unused-function $level \
				-DMPROF_RECORDER_OFF $calls -I "$root/schema" -I "$root/client/recorder" \
				-c "$tmp/calls.c" -o "$tmp/off$calls.o"
			code "$tmp/off$calls.o" >"$tmp/off$calls.s"
		done
		if ! cmp -s "$tmp/off.s" "$tmp/off-DCALLS.s"; then
			echo "$language $level: calls that are compiled out leave instructions:"
			diff "$tmp/off.s" "$tmp/off-DCALLS.s" || :
			exit 1
		fi
		if nm -u "$tmp/off-DCALLS.o" | grep mprof_; then
			echo "$language $level: calls that are compiled out leave symbols"
			exit 1
		fi
		# The test would find calls that are not compiled out.
		"$@" -x "$language" -std=$standard -Wall -Wextra -Werror $level -DCALLS -I "$root/schema" \
			-I "$root/client/recorder" -c "$tmp/calls.c" -o "$tmp/on.o"
		if [ "$(nm -u "$tmp/on.o" | grep -c mprof_recorder_do_)" -lt 21 ]; then
			echo "$language $level: calls are missing that are not compiled out"
			exit 1
		fi
	done
done
