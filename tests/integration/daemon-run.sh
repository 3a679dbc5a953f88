#!/bin/sh
# Run `sh daemon/run` as a new user does, with the programs of a build directory: daemon-run BUILD. It starts, the three commands that it prints
# work, and it ends when it is told to; with --seconds by itself. The suite fresh shows that it installs and compiles.
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
export MPROFD_PROGRAMS="$1"
work=$(mktemp -d)
daemon=
finish() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || :
	wait
	rm -rf "$work"
}
trap finish EXIT
if grep -q control_d /proc/xen/capabilities 2>/dev/null; then
	echo "SKIP: in a dom0 there is no demo guest"
	exit 77
fi

: >"$work/said"
MPROFD_HOME=$work/home sh "$top/daemon/run" >"$work/said" 2>&1 &
daemon=$!
until grep -q '^Ctrl-C' "$work/said"; do
	kill -0 $daemon 2>/dev/null || {
		cat "$work/said"
		exit 1
	}
	sleep 0.2
done
cat "$work/said"
url=$(sed -n 's/^mprofd is running: \([^ ]*\)\/ .*/\1/p' "$work/said")
until curl -s "$url/v1/domains" | grep -q '"bytes":[1-9][0-9]\{4\}'; do # some thousand bytes of events are archived
	kill -0 $daemon
	sleep 0.2
done

mkdir "$work/user"
cd "$work/user"
sed -n 's/^  //p' "$work/said" >"$work/commands"
[ "$(wc -l <"$work/commands")" = 3 ]
number=0
while read -r command; do
	number=$((number + 1))
	printf '$ %s\n' "$command"
	sh -c "$command" >"$work/out.$number"
	head -n 3 "$work/out.$number"
done <"$work/commands"
python3 - "$work/out.1" <<'END'
import json, sys
domains = {d["name"]: d for d in json.load(open(sys.argv[1]))["domains"]}
assert domains["demo"]["state"] == "running", domains
assert domains["demo"]["streams"][0]["ring_bytes"] > 0, domains
END
[ -s demo.ctf ]
[ "$(grep -cE '^[0-9]+\.[0-9]{9} [a-z_]+ ' "$work/out.3")" = 10 ]

kill $daemon
wait $daemon
daemon=
tail -n 1 "$work/said" | grep -q '^stopping$'
# The programs that it started are gone.
if curl -s -o /dev/null "$(sed -n 's/^mprofd is running: \([^ ]*\) .*/\1/p' "$work/said")"; then
	echo "the server still answers"
	exit 1
fi
MPROFD_HOME=$work/home sh "$top/daemon/run" --seconds 1 >"$work/said" 2>&1
tail -n 1 "$work/said" | grep -q '^stopping$'
