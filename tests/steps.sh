# The steps of the suites, for the table of tests/run. Sourced by it.
#
#   check NAME COMMAND…           run a test that is one command: it fails if COMMAND does, and is skipped with 77 and a line SKIP: REASON
#   need NAME COMMAND…            the same for a step that later ones need: it runs whatever test is named on the command line
#   showing PATTERN check …       run a check, and print the lines of its output that match
#   tests BUILD:SUITE [N [wait]]  run a suite of meson, its limits of time times N; with `wait` more tests at a time than processors
#   with BUILD STEP…              run a step if that build is ready
#   lab MACHINE…                  run machines of the lab
#   in_roots NAME COMMAND…        run a command in a new root of each release
#
# Each result is a line of $results: passed, failed or skipped, the name, the reason, with tabs between them.

# result passed|failed|skipped NAME [REASON]
result() {
	printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results"
	[ "$1" = passed ] || printf '%s: %s%s\n' "$1" "$2" "${3:+: $3}"
}

# last_words NAME FILE: store the last output of a failed test.
last_words() {
	{
		printf -- '---- %s\n' "$1"
		tail -n 40 "$2"
	} >>"$words"
}

# took BEGAN: print the time since then.
took() {
	set -- $(($(date +%s) - $1))
	printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
}

# wanted NAME: return whether the command line names no test of this suite, or this one.
wanted() {
	case " $only" in *" ${suite:-}/"*) ;; *) return 0 ;; esac
	case " $only " in *" $suite/$1 "*) ;; *) return 1 ;; esac
}

# ran TEST: return whether there is a result of it.
ran() {
	awk -F '\t' -v "test=$1" 'index($2, test) { found = 1 } END { exit !found }' "$results"
}

check() {
	name=$1
	shift
	wanted "$name" || return 0
	code=0
	"$@" >"$builds/check-$name.log" 2>&1 || code=$?
	[ -z "${show:-}" ] || grep -hE -e "$show" "$builds/check-$name.log" || :
	case $code in
	0) result passed "$name" ;;
	77) result skipped "$name" "$(sed -n 's/^SKIP: //p' "$builds/check-$name.log" | head -n 1)" ;;
	*)
		result failed "$name" "it ended with $code"
		tail -n 200 "$builds/check-$name.log"
		last_words "$name" "$builds/check-$name.log"
		return 1
		;;
	esac
}

need() (
	only=
	check "$@"
)

showing() {
	show=$1
	shift
	"$@" || :
	show=
}

with() {
	[ "$2" != check ] || wanted "$3" || return 0
	command -v "build_$1" >/dev/null || return 127
	"build_$1" || return 0
	shift
	"$@"
}

# tests_of SUITE: print the suites of meson that SUITE runs, each as BUILD:NAME.
tests_of() {
	column "$1" steps | grep -oE 'tests [a-z]+:[a-z-]+' | sed 's/tests //' || :
}

# Python gives its memory back to the kernel and takes it again, and on a virtual machine each page that is touched for the first time may
# cost 20 µs: half of the processor time of its tests. With the C library's allocator, told to keep what it has and to ask for huge pages, a
# test that reads traces takes two thirds of the time.
python_lean="PYTHONMALLOC=malloc
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=4194304:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"

# Suites that mostly wait run more tests at a time than there are processors. Not many more: of unit tests with sanitizers, eight at a time take a
# third more processor time than two at a time, and other suites run beside them.
waiters=$(($(nproc) * 2))

tests() {
	dir=$builds/${1%:*}
	meson_suite=${1#*:}
	log=$meson_suite-${1%:*}
	multiplier=${2:-1}
	wait=${3:-}
	named=
	for test in $only; do
		[ "${test%%/*}" != "$suite" ] || named="$named $(awk -v s="$meson_suite" -v t="${test#*/}" '$1 == s && $2 == t { print t }' tests/suites.list)"
	done
	named=$(printf '%s' "$named" | tr -s ' ')
	case " $only" in *" $suite/"*) [ "${named# }" ] || return 0 ;; esac
	"build_${1%:*}" || return 0
	printf 'testing %s\n' "$log"
	rm -f "$dir/meson-logs/$log.json"
	# The programs of a build with sanitizers have the sanitizer's allocator, so this is for Python. tests/launcher keeps it from the programs
	# that it starts: with it, the C library reads a file of /sys at its first allocation.
	lean=
	case $1 in asan:* | tsan:*) lean="env $python_lean" ;; esac
	forked_begin "$dir"
	# tests/count.py reads the failures from the log.
	$fixed $lean meson test -C "$dir" --no-rebuild --suite "$meson_suite" --logbase "$log" --timeout-multiplier "$multiplier" \
		${wait:+--num-processes "$waiters"} $named >"$builds/$log.log" 2>&1 || :
	forked_end
	if ! python3 tests/count.py "$log" "$meson_suite" "$dir" "$results" "$words" $named; then
		result failed "$log" "not all of its tests ran"
		tail -n 40 "$builds/$log.log"
	fi
	compare "$dir" "$meson_suite"
}

# forked_begin DIRECTORY: start the server of tests/forked of a build with sanitizers, for the tests that follow.
forked_begin() {
	forked=
	[ -x "$1/tests/forked/fork-server" ] || return 0
	forked_place=$(mktemp -d)
	export MPROF_FORK_SERVER="$forked_place/socket"
	$fixed "$1/tests/forked/fork-server" "$MPROF_FORK_SERVER" >"$forked_place/log" 2>&1 &
	forked=$!
	while kill -0 "$forked" 2>/dev/null && [ ! -S "$MPROF_FORK_SERVER" ]; do
		sleep 0.1
	done
}

# forked_end: end the server. It fails if a sanitizer has found something in it.
forked_end() {
	[ "$forked" ] || return 0
	unset MPROF_FORK_SERVER
	kill "$forked" 2>/dev/null || :
	if ! wait "$forked"; then
		result failed "fork-server of $log"
		last_words "fork-server of $log" "$forked_place/log"
	fi
	rm -rf "$forked_place"
}

# compare DIRECTORY SUITE: fail each test that meson did not define and tests/suites.list has, and each that the list lacks.
compare() {
	compared=$builds/list-$2-$(basename "$1")
	python3 -B tests/suites.py compare "$1" "$2" >"$compared" && return
	[ -s "$compared" ] || result failed "$2-$(basename "$1")" "its tests could not be compared with tests/suites.list"
	while IFS="$(printf '\t')" read -r compared_name compared_reason; do
		result failed "$2-$(basename "$1"): $compared_name" "$compared_reason"
	done <"$compared"
	return 1
}

# ---- Debian packages

# packages_of GROUP: print its packages.
packages_of() {
	case $1 in
	build) echo $packages_build ;;
	integration)
		echo curl babeltrace2 xz-utils zstd sqlite3 python3-yaml zsh fish protobuf-compiler ocaml-nox ocaml-dune liblwt-ocaml-dev libcmdliner-ocaml-dev openssl openssh-client haproxy
		command -v node >/dev/null || echo nodejs
		;;
	lint)
		echo black clang shellcheck clang-format-19 clang-tidy cppcheck man-db groff-base systemd curl python3-yaml python3-sphinx python3-myst-parser
		echo abigail-tools
		packages_npm
		;;
	format) echo clang-format-19 ;;
	browser)
		echo chromium chromium-headless-shell fonts-dejavu-core xz-utils openssl
		packages_npm
		;;
	remote)
		echo iproute2 curl openssl openssh-client sslscan libnss3-tools
		# If systemd runs, this package would start a service that listens.
		[ -d /run/systemd/system ] || echo openssh-server
		;;
	# Debian's package also starts a server of its own, on localhost; the tests do not use it.
	fleet) echo iproute2 postgresql postgresql-client python3-psycopg2 openssl procps ;;
	machines) echo patroni python3-etcd etcd-server etcd-client haproxy pgbackrest ;;
	debian) echo build-essential debhelper dpkg-dev po-debconf iproute2 ;;
	lab) echo redis-server qemu-system-x86 mmdebstrap cpio kmod e2fsprogs binutils xz-utils lz4 zstd ;;
	arm) echo gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf libc6-dev-arm64-cross ;;
	roots) echo mmdebstrap ;;
	*) echo "$1" ;;
	esac
}

packages_npm() {
	command -v node >/dev/null && command -v npm >/dev/null || echo nodejs npm
}

# ---- what is made before the suites

# ready PART: make a build directory, or another part of the column `ready`. Return 1 if it failed; it is tried once.
ready() {
	case $1 in
	gcc | asan | tsan | clang) "build_$1" ;;
	xen) xen_need ;;
	prometheus) prometheus_need ;;
	browser) npm_need tests/browser ;;
	javascript) npm_need tests/lint/javascript ;;
	debs) debs_need ;;
	esac
}

# npm_need FOLDER: install the packages of FOLDER's lock file in $node_modules, beside the build directories, unless the same lock file was
# installed there before.
npm_need() {
	node_modules=$builds/${1##*/}
	cmp -s "$1/package-lock.json" "$node_modules/installed" && return 0
	mkdir -p "$node_modules"
	rm -f "$node_modules/installed"
	cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" "$node_modules"
	(cd "$node_modules" && npm ci --ignore-scripts) >"$builds/npm.log" 2>&1 && cp "$1/package-lock.json" "$node_modules/installed"
}

# npm NAME FOLDER: the same; a failure is one of the test NAME.
npm_or_fail() {
	npm_need "$2" && return
	result failed "$1" "npm could not install the packages of $2/package-lock.json"
	tail -n 20 "$builds/npm.log"
	return 1
}

# Build the packages, once for all suites. Only the suite packages needs the build's unit tests. In CI the lab gets the programs of the build
# directory gcc.
debs_need() {
	case ${debs:-} in ready) return 0 ;; broken) return 1 ;; esac
	case " $chosen " in
	*" packages "*) set -- ;;
	*" xen-all "*) set -- nocheck ;;
	*) build_gcc && set -- built || return 1 ;;
	esac
	debs=broken
	debs_began=$(date +%s)
	printf 'building the packages\n'
	need packages-build sh tests/packages/build "$builds" "$@" || return 1
	printf 'the packages are ready after %s\n' "$(took "$debs_began")"
	debs=ready
}

# impossible WHAT: print why this machine does not allow WHAT of the column `if`; return false if it does.
impossible() {
	case $1 in
	root) [ "$(id -u)" != 0 ] && printf 'it needs root' ;;
	debian) sh tests/fresh/root skipped ;;
	lab)
		[ "$(id -u)" != 0 ] || [ "$(uname -m)" != x86_64 ] || ! command -v dpkg-query >/dev/null || return 1
		printf 'it is made by root, on Debian for amd64'
		;;
	*) return 1 ;;
	esac
}

# ---- suites of several steps

lint() {
	check format sh tests/lint/format
	check format-py sh tests/lint/format-py
	wanted format-js && npm_or_fail format-js tests/lint/javascript && check format-js sh tests/lint/format-js "$node_modules"
	wanted eslint && npm_or_fail eslint tests/lint/javascript && check eslint sh tests/lint/eslint "$node_modules"
	with gcc check gcc-werror true
	with gcc check cppcheck sh tests/lint/cppcheck "$builds/gcc"
	with gcc check options sh tests/lint/options "$builds/gcc"
	with gcc check install sh tests/lint/install "$builds"
	with gcc check ndebug-werror python3 -B tests/lint/ndebug "$builds/gcc"
	with gcc check unit-filter python3 -B tests/lint/unit-filter "$builds/gcc"
	with gcc check circles python3 -B tests/lint/circles "$builds/gcc"
	with clang check clang-tidy sh tests/lint/clang-tidy "$builds/clang"
	for name in man-pages units arrows docs version scripts; do
		check $name sh tests/lint/$name "$builds"
	done
	for name in answers keys paths names words suites runner monitoring barriers abi; do
		check $name python3 -B tests/lint/$name
	done
}

bench() {
	build_gcc || return 0
	export MPROF_BUILT=1
	for bench in $(sh tests/bench/run --list); do
		printf 'bench %s\n' "$bench"
		check "bench-$bench" sh tests/bench/run --brief "$bench"
	done
}

# Each test of the page counts.
browser() {
	build_gcc && npm_or_fail browser tests/browser || return 0
	: >"$builds/browser.results"
	part=
	for test in $only; do
		case $test in "$suite"/*) part=${test#*/} ;; esac
	done
	node tests/browser/run.mjs "$builds/gcc" "$node_modules" "$builds/browser.results" ${part:+"$part"} || :
	[ -s "$builds/browser.results" ] || result failed browser "its tests did not run"
	cat "$builds/browser.results" >>"$results"
}

# Each class of tests/remote/remote.py counts.
remote() {
	build_gcc || return 0
	npm_need tests/browser && export MPROF_BROWSER="$node_modules" || :
	for part in Clients Ssh Page Refused Rotation Scan; do
		check "remote-$part" python3 -B tests/remote/remote.py "$builds/gcc" "$part"
	done
}

# An emulated machine keeps a processor busy for minutes, so CI boots one Xen alone. The integration tests run every behaviour with both of
# XenStore's servers.
lab() {
	machines=
	for machine; do ! wanted "$machine" || machines="$machines $machine"; done
	[ "$machines" ] && build_gcc && debs_need || return 0
	began=$(date +%s)
	if ! sh tests/xen/lab/build "$builds" >"$builds/xenlab.log" 2>&1; then
		result failed xen-lab "it could not be built"
		tail -n 40 "$builds/xenlab.log"
		return 0
	fi
	printf 'the lab is built after %s\n' "$(took "$began")"
	: >"$builds/xen.results"
	sh tests/xen/lab/run "$builds" "$builds/xen.results" $machines || :
	[ -s "$builds/xen.results" ] || result failed xen-lab "there is no check"
	while IFS="$(printf '\t')" read -r verdict name reason; do
		result "$verdict" "$name" "$reason"
	done <"$builds/xen.results"
}

dist() {
	[ -e .git ] || {
		result skipped dist "meson dist needs a git clone"
		return 0
	}
	showing ' passed, ' with gcc check dist sh tests/packages/dist "$builds"
}

flips() {
	export MPROF_FLIPS="${MPROF_FLIPS:-500}"
	showing 'flips|MPROF_SEED' with asan check flips python3 -B tests/integration/damage.py "$builds/asan"
}

# judge_program: compile the judge, which the build to install leaves out.
judge_program() {
	ninja -C "$builds/gcc" tests/judge/judge >>"$builds/gcc.log" 2>&1
}

judge_all() {
	with gcc need judge-program judge_program &&
		showing 'histories|FAULT|again' check judge-all "$builds/gcc/tests/judge/judge" --known tests/judge/known.list --count "${MPROF_JUDGE:-100000}"
}

# Times are printed and never fail.
fleet_figures() {
	for shape in "" --standby "--shards 2" "--shards 2 --standby"; do
		figure fleet-rate measure.py
	done
	for shape in "--hosts 30,100,300,1000 --months 12 --http $builds/gcc" "--hosts 300,1000 --months 1,24,36" "--hosts 300 --months 12 --shards 2"; do
		figure fleet-growth growth.py
	done
}

# figure NAME SCRIPT: measure $shape.
figure() {
	showing '^[{]' check "$(printf '%s %s' "$1" "$shape" | tr -cs '[:alnum:]' - | sed 's/-$//')" /usr/bin/python3 -B "tests/fleet/$2" $shape
}

# ---- Debian roots

# The releases that the suites with roots try. MPROFD_RELEASES chooses others.
releases=${MPROFD_RELEASES:-bookworm trixie}
# Roots that outlive a run.
kept=${MPROFD_ROOTS:-$builds/kept-roots}

# root_make NAME: make the root $builds/roots/NAME/root, with its minimum and the project in /src. NAME ends with a hyphen and the release.
root_make() {
	mkdir -p "$builds/roots/$1"
	need "$1-root" sh tests/fresh/root make "$builds/roots/$1/root" "${1##*-}"
}

# root_run NAME COMMAND…: run a command in that root.
root_run() {
	root=$builds/roots/$1/root
	shift
	sh tests/fresh/root run "$root" "$@"
}

# Remove the roots that the chosen suites made.
roots_remove() {
	for suite in $chosen; do
		for root in "$builds/roots/$suite"-*/root; do
			[ ! -d "$root" ] || sh tests/fresh/root remove "$root" || result failed "$suite" "its root could not be removed"
		done
	done
}

in_roots() {
	in_name=$1
	shift
	for release in $releases; do
		root_make "$in_name-$release" && check "$in_name-$release" root_run "$in_name-$release" "$@" || :
	done
}

# The root of the first release also unpacks the traces: its Python is older than that of many developers.
fresh() {
	in_roots fresh sh tests/fresh/start
	first=fresh-${releases%% *}
	[ ! -d "$builds/roots/$first/root" ] || check fresh-traces root_run "$first" sh -c 'mkdir /tmp/traces && python3 tests/traces/unpack.py /tmp/traces'
}

# The root of the first release also configures every build directory.
fresh_full() {
	showing ' passed, ' in_roots fresh-full sh tests/run quick model
	first=fresh-full-${releases%% *}
	[ ! -d "$builds/roots/$first/root" ] || showing ' passed, ' check fresh-configure root_run "$first" sh tests/run --configure
}

# The release to come: a failure is a warning of what will break.
sid() {
	root_make sid-sid || return 0
	check sid-start root_run sid-sid sh tests/fresh/start
	check sid-unit root_run sid-sid sh tests/fresh/gcc unit
}

# If the suite fresh has ended in this run, its root serves, with the objects that it compiled. Otherwise the root is one that stays, with
# the objects of the build. The compiler's cache stays in both cases, also when a run fails.
debian13() {
	mkdir -p "$kept/debian13/cache"
	(
		flock 9
		root=$builds/roots/fresh-trixie/root
		started=
		case " $chosen " in *" fresh "*) [ ! -e "$builds/ended-fresh" ] || [ ! -e "$root/src/build/release/build.ninja" ] || started=started ;; esac
		if [ "$started" ]; then
			ln -sfn "$kept/debian13/cache" "${root%/*}/cache"
		else
			root=$kept/debian13/root
			need debian13-root sh tests/fresh/root keep "$root" trixie $packages_build ccache curl iproute2 openssl || return 0
			sh tests/fresh/root copy "$root"
		fi
		need debian13-gcc sh tests/fresh/root run "$root" sh tests/fresh/gcc build $started || return 0
		showing '^(Ok|Fail): ' check debian13-unit sh tests/fresh/root run "$root" sh tests/fresh/gcc unit $started
		showing ' events ' check debian13-served sh tests/fresh/root run "$root" sh tests/fresh/gcc served $started
	) 9>"$kept/debian13.lock"
	rm -f "$builds/roots/fresh-trixie/cache"
}

# Each class of tests/ocaml5/ocaml5.py counts, and the unikernels of tests/xen/mirage.py, compiled with OCaml 5. The root stays for the next time.
ocaml5() {
	build_gcc || return 0
	mkdir -p "$kept/ocaml5"
	(
		flock 9
		need ocaml5-root sh tests/ocaml5/root "$kept/ocaml5" || return 0
		[ -e "$kept/ocaml5/made" ] || return 0
		export MPROF_OCAML5="$kept/ocaml5"
		for part in Events Environment Processes Losses Port Overlay; do
			check "ocaml5-$part" python3 -B tests/ocaml5/ocaml5.py "$builds/gcc" "$part"
		done
		export MPROF_MIRAGE="$kept/ocaml5/root/mirage/_build/solo5/stand-in"
		check ocaml5-mirage python3 -B tests/xen/mirage.py "$builds/gcc"
	) 9>"$kept/ocaml5.lock"
}

# The root of the suite fresh also serves if that suite has ended in this run: packages that must be absent are removed from it.
distributor() {
	parts_root=distributor-$(sh tests/fresh/root release)
	case " $chosen " in *" fresh "*) [ ! -e "$builds/ended-fresh" ] || parts_root=fresh-${releases%% *} ;; esac
	[ "${parts_root%-*}" = fresh ] && [ -d "$builds/roots/$parts_root/root" ] || root_make "$parts_root" || return 0
	for part in client defaults without; do
		check "distributor-$part" root_run "$parts_root" sh tests/fresh/parts "$part"
	done
}

# The packages of each release are built in that release: those of this machine's for the lab, too.
packages() {
	for release in $releases; do
		if [ "$release" = "$(sh tests/fresh/root release)" ]; then
			debs_need || continue
			made=$builds/packages/debs
			check "packages-lintian-$release" lintian --allow-root --fail-on error,warning "$made"/*.changes
			check "packages-contents-$release" sh tests/packages/contents "$made"
		else
			root_make "packages-build-$release" || continue
			need "packages-build-$release" root_run "packages-build-$release" sh tests/packages/built || continue
			made=$builds/roots/packages-build-$release/root/build/packages/debs
		fi
		root_make "packages-$release" || continue
		cp -R "$made" "$builds/roots/packages-$release/root/debs"
		# Each step needs those before it.
		for step in develop install tests tutorial upgrade remove purge delete; do
			need "packages-$step-$release" root_run "packages-$release" sh tests/packages/installed $step /debs || break
		done
	done
}
