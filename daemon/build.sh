# Shared by the project's commands: packages and build directories. Sourced, never run.
#
#   top                the checkout
#   builds             the folder of the build directories: $MPROFD_BUILD, else build/ in the checkout
#   packages_need P…   install missing Debian packages; end with one sentence if that is impossible
#   xen_need           unpack XenStore's two servers into $MPROFD_XEN: tests run them without a hypervisor
#   prometheus_need    unpack Prometheus and promtool into $MPROFD_PROMETHEUS, for tests
#   build_ready N A…   configure (with meson's arguments A) and compile the build directory N, its log in N.log. If $build_only is set,
#                      compile only these targets; if $configure_only is set, compile nothing
#   release_options    meson's arguments for a build to install
#   test_options       the same for the build that the tests and benchmarks use

builds=${MPROFD_BUILD:-$top/build}
case $builds in /*) ;; *) builds=$PWD/$builds ;; esac
mkdir -p "$builds"

# shellcheck disable=SC2034
release_options="--prefix=/usr --libdir=lib --buildtype=release"
# shellcheck disable=SC2034
test_options="$release_options -Dwerror=true"

# Packages to build each part: the client, and meson's options run, daemon, xen, forward and viewer.
packages_client="gcc libc6-dev meson ninja-build pkg-config python3 libjansson-dev libcurl4-openssl-dev libarchive-dev
	libprotobuf-c-dev protobuf-c-compiler libsqlite3-dev"
packages_daemon="libsystemd-dev libzstd-dev libxxhash-dev libinih-dev libmicrohttpd-dev libgnutls28-dev libseccomp-dev"
packages_xen="libxen-dev"
packages_viewer="clang lld wasi-libc libclang-rt-dev-wasm32"
packages_run="libdw-dev"
packages_forward="libpq-dev"
packages_build="$packages_client $packages_run $packages_daemon $packages_xen $packages_forward $packages_viewer"

die() {
	printf '%s\n' "$*" >&2
	exit 1
}

packages_need() {
	command -v dpkg-query >/dev/null || return 0 # not Debian: the build reports missing packages
	missing=
	installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package} ${Package}:${Architecture}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ')"
	for package; do
		case $installed in *" $package "*) ;; *) missing="$missing $package" ;; esac
	done
	[ "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "Missing packages: run this once as root, or install them first:$missing"
	printf 'installing:%s\n' "$missing" >&2
	# apt fails if its lists are absent or old. Fetch them only then.
	# shellcheck disable=SC2086
	packages_install $missing && return 0
	apt-get update >"$builds/apt.log" 2>&1 || :
	# shellcheck disable=SC2086
	packages_install $missing && return 0
	tail -n 20 "$builds/apt.log" >&2
	die "apt-get could not install these packages:$missing"
}

packages_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$builds/apt.log" 2>&1
}

# The package is unpacked and never installed: its services belong to a dom0.
MPROFD_XEN=${MPROFD_XEN:-$builds/xen}
export MPROFD_XEN

xen_need() {
	[ ! -e "$MPROFD_XEN/ready" ] && command -v apt-get >/dev/null || return 0
	printf 'unpacking: xen-utils\n' >&2
	xen_unpack && return 0
	apt-get update >>"$builds/apt.log" 2>&1 || :
	xen_unpack || die "apt-get could not download a package xen-utils-VERSION; see $builds/apt.log"
}

xen_unpack() {
	# Its name has Xen's version: 4.17 in Debian 12, 4.20 in Debian 13.
	xen_utils=$(apt-cache pkgnames xen-utils- 2>/dev/null | grep -E '^xen-utils-[0-9.]+$' | sort -V | tail -n 1)
	[ "$xen_utils" ] && unpack "$MPROFD_XEN" "$xen_utils"
}

# The package is unpacked and never installed: installing it starts a service that listens on port
# 9090 of all addresses.
MPROFD_PROMETHEUS=${MPROFD_PROMETHEUS:-$builds/prometheus}
export MPROFD_PROMETHEUS

prometheus_need() {
	[ ! -e "$MPROFD_PROMETHEUS/ready" ] && command -v apt-get >/dev/null || return 0
	printf 'unpacking: prometheus\n' >&2
	unpack "$MPROFD_PROMETHEUS" prometheus && return 0
	apt-get update >>"$builds/apt.log" 2>&1 || :
	unpack "$MPROFD_PROMETHEUS" prometheus || die "apt-get could not download prometheus; see $builds/apt.log"
}

# unpack DIRECTORY PACKAGE: download the Debian package and unpack it there, without installing it.
unpack() (
	mkdir -p "$1"
	cd "$1" || exit
	apt-get download "$2" >>"$builds/apt.log" 2>&1 && dpkg -x "$2"_*.deb . && : >ready
)

# The caller prints the log where it wants to. Every part is built unless an argument disables it.
# So a missing package fails here, and no test is lost.
build_ready() {
	build=$1
	shift
	set -- -Dauto_features=enabled "$@"
	made=$builds/$build/mprofd-arguments
	if [ ! -f "$builds/$build/build.ninja" ]; then
		meson setup "$builds/$build" "$top" "$@" >"$builds/$build.log" 2>&1 || return
	elif [ "$(cat "$made" 2>/dev/null)" != "$*" ]; then
		meson configure "$builds/$build" "$@" >"$builds/$build.log" 2>&1 || return
	else
		: >"$builds/$build.log"
	fi
	printf '%s\n' "$*" >"$made"
	[ -z "${configure_only:-}" ] || return 0
	# shellcheck disable=SC2086
	meson compile -C "$builds/$build" ${build_only:-} >>"$builds/$build.log" 2>&1
}
