#!/bin/sh
# Check that babeltrace2 reads the demo guest's events with schema/ctf/metadata.tsdl: demo-guest.sh
# SOURCE-ROOT MPROF-DEMO-GUEST
set -eu
root=$1
guest=$2
python3 -B "$root/tests/integration/babeltrace2.py" || exit 77
tmp=$(mktemp -d)
pid=
trap 'test -z "$pid" || kill "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT

fail() {
	echo "demo-guest: $*" >&2
	exit 1
}

# read_trace NAME: write one line an event to $tmp/NAME.txt, and the lines without times to
# $tmp/NAME.events. The declarations of the recorder that begin the packets are no events of the guest.
read_trace() {
	mkdir -p "$tmp/$1.dir"
	cp "$root/schema/ctf/metadata.tsdl" "$tmp/$1.dir/metadata"
	cp "$tmp/$1.ctf" "$tmp/$1.dir/stream.ctf"
	babeltrace2 --clock-seconds --no-delta "$tmp/$1.dir" >"$tmp/$1.all" || fail "babeltrace2 refuses $1.ctf"
	grep -q 'extra: .*"RECORDER"' "$tmp/$1.all" || fail "$1.ctf declares no recorder"
	grep -v 'extra: .*"RECORDER"' "$tmp/$1.all" >"$tmp/$1.txt"
	sed 's/^[^ ]* //' "$tmp/$1.txt" >"$tmp/$1.events"
}

count=60000
for name in one two; do
	"$guest" --ring "$tmp/$name.ctf" --size 4000001 --packets 4 --rate 0 --seed 7 --count $count
	read_trace $name
	lines=$(wc -l <"$tmp/$name.txt")
	[ "$lines" -eq $count ] || fail "$name has $lines events and not $count"
done

# The seed decides everything but the times.
cmp "$tmp/one.events" "$tmp/two.events" || fail "two guests of one seed differ"
"$guest" --ring "$tmp/other.ctf" --size 4000001 --rate 0 --seed 8 --count $count
read_trace other
! cmp -s "$tmp/one.events" "$tmp/other.events" || fail "two guests of different seeds are the same"

# The trace has every event and every thread type.
for event in creates read fulfills fails becomes label increase switch gc signal try_read counter read_later signal_noswitch; do
	grep -q "^$event: " "$tmp/one.events" || fail "no event $event"
done
for type in Wait Task Bind Try Choose Pick Join Map Condition On_success On_failure On_termination On_any Ignore_result Async \
	Promise Semaphore Switch Stream Mutex; do
	grep -q "thread_type = ( \"$type\"" "$tmp/one.events" || fail "no thread type $type"
done
grep -q '^switch: .*{ thread = -1 }' "$tmp/one.events" || fail "it never sleeps"

# The trace has a thread that should resolve, and does not.
stuck=$(sed -n 's/^label: .*{ thread = \([0-9]*\) }, { label = "__should_resolve" }/\1/p' "$tmp/one.events")
[ -n "$stuck" ] || fail "no thread is marked __should_resolve"
! grep -E "^(fulfills|fails): .*resolvee = ${stuck}[ ,]" "$tmp/one.events" || fail "thread $stuck resolves"

# A timeout is passed on: the waiting thread reads the failed one.
awk '
	/^fails: .*Block.Timeout/ { gsub(/[^0-9]+/, " "); failed = $2 == $3 ? "" : $3; next }
	failed != "" && /^read: / { gsub(/[^0-9]+/, " "); $3 == failed ? read++ : wrong++; failed = "" }
	failed != "" { wrong++; failed = "" }
	END { exit wrong || !read }
' "$tmp/one.events" || fail "a timeout is not read by the thread that waits"

# The guest runs until it is told to end, at about the requested rate.
began=$(date +%s%N)
"$guest" --ring "$tmp/live.ctf" --size 4000000 --rate 5000 2>"$tmp/live.log" &
pid=$!
# The first packet's header has the bits of its content: more than 4000 events have that many.
until [ "$(od -An -tu4 -j26 -N4 "$tmp/live.ctf" 2>/dev/null | tr -d ' ')" -gt 1000000 ] 2>/dev/null; do
	kill -0 "$pid" || fail "it ends before SIGTERM"
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid" || fail "it does not end well on SIGTERM"
pid=
took=$(($(date +%s%N) - began))
read_trace live
lines=$(wc -l <"$tmp/live.txt")
grep -q "events=$lines dropped=0" "$tmp/live.log" || fail "it says $(cat "$tmp/live.log"), the ring has $lines events"
# The guest writes no more than that, except for what it writes at once.
if [ "$lines" -le 4000 ] || [ "$lines" -ge $((took / 200000 + 6000)) ]; then
	fail "$lines events in $((took / 1000000)) ms at 5000 a second"
fi

# Without room for a ring the guest reports that and leaves no file.
code=0
(
	trap '' XFSZ
	ulimit -f 8
	exec "$guest" --ring "$tmp/large.ctf" --size 4000000 --count 10
) 2>"$tmp/large.log" || code=$?
[ $code -eq 1 ] || fail "without room for its ring it ends with $code: $(cat "$tmp/large.log")"
grep -q 'cannot make a ring there' "$tmp/large.log" || fail "without room it says $(cat "$tmp/large.log")"
[ ! -e "$tmp/large.ctf" ] || fail "a ring that was not made whole stays"
