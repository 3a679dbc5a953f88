# The build directories of the tests, and their environment. Sourced after daemon/build.sh by the scripts that run tests.
#
#   build_NAME       make the build directory NAME ready, once: gcc, asan, tsan or clang. A failure counts as one failed test.
#   build_names      their names, as an expression of grep -E
#   $fixed COMMAND   run a command whose addresses are not random
# shellcheck disable=SC2034
build_names='gcc|asan|tsan|clang'

# No test may run git: the tree may have been unpacked from an archive, or belong to another repository.
export GIT_DIR=/nonexistent

# Tests start Python some thousand times. A version manager's command costs ten times as much to start as Debian's, which has the packages
# that the tests need, too.
if [ -x /usr/bin/python3 ] && [ "$(command -v python3)" != /usr/bin/python3 ]; then
	mkdir -p "$builds/programs"
	ln -sf /usr/bin/python3 "$builds/programs/python3"
	PATH=$builds/programs:$PATH
	export PATH
fi

# If ccache is installed, an object that any build directory has compiled of the same text with the same flags serves again. The line tables of
# a sanitizer's report name files relative to the build directory, so they are true in each.
if [ -d /usr/lib/ccache ]; then
	PATH=/usr/lib/ccache:$PATH
	export PATH CCACHE_NOHASHDIR=1
fi

# Some kernels place a process where a sanitizer wants its map, unless addresses are not random.
fixed=
if setarch "$(uname -m)" -R true 2>/dev/null; then
	fixed="setarch $(uname -m) -R"
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}"

# Line tables are enough for a sanitizer's report. With -Og a compilation takes 70 percent of the processor time that -O1 takes, which takes
# two thirds of that of meson's defaults; the unit tests run as fast as with -O1. The sanitizers find the callers by frame pointers. A finding of UBSan ends the
# program: the code that would let it continue takes a fifth of the compilation. gcc cannot inline all that xxhash.h forces it to with -Og.
# lld, which the viewer needs anyway, links in half the processor time.
sanitized="-Doptimization=g -Dc_args=['-g1','-fno-omit-frame-pointer','-fno-sanitize-recover=undefined','-DXXH_NO_INLINE_HINTS=1']"
sanitized="$sanitized -Dc_link_args=-fuse-ld=lld"

# The programs that the fleet's tests with threads run (tests/fleet/meson.build).
fleet_programs="daemon/mprofd/mprofd daemon/serve/mprofd-http daemon/forward/mprofd-forward daemon/sink/mprofd-sink
	client/ctl/mprofctl:executable tests/integration/writer-legacy tests/fleet/fleet-copy"

# This is the build to install, with warnings as errors. All suites but those with sanitizers use it. It compiles no unit test and no fuzzer
# that no chosen suite runs in it: in CI, ndebug reports gcc's warnings in these files, and debian13 compiles and runs the unit tests.
build_gcc() {
	build_chosen=1
	code=0
	CC=gcc build gcc $test_options || code=1
	build_chosen=
	return $code
}

# Benchmarks and the lab's programs run without sanitizers and are not compiled.
build_asan() {
	build_chosen=$chosen
	code=0
	CC=gcc build asan $sanitized -Dtest-clock=true -Db_sanitize=address,undefined || code=1
	build_chosen=
	return $code
}

# This build compiles only the tests with threads, and the programs of the fleet for their suite.
build_tsan() {
	build_only=$(awk '$1 == "threads" { printf "tests/unit/test-%s ", $2 }' "$top/tests/suites.list")
	case " $chosen " in *" fleet-tsan "*) build_only="$build_only $fleet_programs" ;; esac
	code=0
	CC=gcc build tsan $sanitized -Db_sanitize=thread -Dviewer=disabled || code=1
	build_only=
	return $code
}

# This build compiles nothing: clang-tidy reads every file as clang does, and reports clang's warnings.
build_clang() {
	was_configure_only=$configure_only
	configure_only=1
	code=0
	CC=clang build clang -Dwerror=true || code=1
	configure_only=$was_configure_only
	return $code
}

# build NAME ARGUMENTS… Two lanes may want the same build directory: the second one waits.
build() {
	case " ${built:-} " in *" $1 "*) return 0 ;; esac
	case " ${broken:-} " in *" $1 "*) return 1 ;; esac
	if [ "$configure_only" ]; then printf 'configuring %s\n' "$1"; else printf 'building %s\n' "$1"; fi
	build_began=$(date +%s)
	mkdir -p "$builds"
	exec 7>"$builds/building-$1"
	flock 7
	code=0
	{ build_made "$@" && build_renew "$1"; } || code=1
	exec 7>&-
	if [ $code = 0 ]; then
		printf '%s is ready after %s\n' "$1" "$(took "$build_began")"
		built="${built:-} $1"
		return 0
	fi
	broken="${broken:-} $1"
	result failed "build of $1"
	grep -A 12 -E 'error:|ERROR|FAILED' "$builds/$1.log" | head -n 120
	last_words "build of $1" "$builds/$1.log"
	return 1
}

# build_made NAME ARGUMENTS…: configure and compile a build directory, with $build_chosen only what the chosen suites need.
build_made() {
	[ "${build_chosen:-}" ] && [ ! "$configure_only" ] || {
		build_ready "$@"
		return
	}
	configure_only=1
	code=0
	build_ready "$@" || code=1
	configure_only=
	[ $code = 0 ] && build_compile "$1"
}

# build_compile NAME: compile a build directory.
build_compile() {
	if [ "${build_chosen:-}" ]; then
		# The list of targets is read below, so it must not be older than the meson.build files.
		# shellcheck disable=SC2046
		ninja -C "$builds/$1" build.ninja >>"$builds/$1.log" 2>&1 &&
			ninja -C "$builds/$1" $(python3 -B "$top/tests/suites.py" without "$builds/$1" $(
				for suite in $chosen; do tests_of "$suite" | sed -n "s/^$1://p"; done
			)) >>"$builds/$1.log" 2>&1
	else
		meson compile -C "$builds/$1" ${build_only:-} >>"$builds/$1.log" 2>&1
	fi
}

# build_renew NAME: configure a build directory anew if it lacks a test of a chosen suite, since the directory may be older than a program
# that the test needs.
build_renew() {
	for pair in $(for suite in $chosen; do tests_of "$suite"; done); do
		[ "${pair%:*}" = "$1" ] || continue
		python3 -B tests/suites.py compare "$builds/$1" "${pair#*:}" >/dev/null && continue
		meson setup --reconfigure "$builds/$1" >>"$builds/$1.log" 2>&1 || return
		[ "$configure_only" ] || build_compile "$1" || return
		break
	done
}
