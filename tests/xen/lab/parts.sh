# The parts of the lab's machines, for build and build-arm64. Sourced in the lab's directory; $here is the directory of the scripts.
#
#   apt_of ARCHITECTURE RELEASE   let apt see this machine's mirror, for another architecture or release
#   kernel_of PACKAGE             print the package of the newest kernel
#   fetch PACKAGE…                unpack packages below unpacked/PACKAGE
#   fresh WHAT STAMP              return whether WHAT exists and was made of STAMP
#   initramfs NAME INIT           begin a root in NAME
#   module KERNEL ROOT NAME…      copy a module and its dependencies
#   pack ROOT OUT                 write the root as an initramfs
#   disk ROOT OUT                 write the root as a file system

strip="strip"
archive_key=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(sh "$here/../../fresh/root" mirror)

# This machine's configuration of apt stays in force, but for its sources and its state. For another architecture only the release
# itself is taken, because not every mirror has its security updates.
apt_of() {
	mkdir -p apt/lists/partial apt/archives/partial
	: >apt/status
	printf 'deb [arch=%s signed-by=%s] %s %s main\n' "$1" "$archive_key" "$mirror" "$2" >apt/sources.list
	cat >apt/apt.conf <<-END
		APT::Architecture "$1";
		APT::Architectures { "$1"; };
		APT::Sandbox::User "root";
		Dir::State "$PWD/apt";
		Dir::State::lists "$PWD/apt/lists";
		Dir::State::status "$PWD/apt/status";
		Dir::Cache "$PWD/apt";
		Dir::Cache::pkgcache "pkgcache.bin";
		Dir::Cache::srcpkgcache "srcpkgcache.bin";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::sourcelist "$PWD/apt/sources.list";
	END
	APT_CONFIG=$PWD/apt/apt.conf
	export APT_CONFIG
}

kernel_of() {
	apt-cache depends --important "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)/\1/p' | head -n 1
}

fetch() {
	for package; do
		[ ! -d "unpacked/$package" ] || continue
		(cd debs && { apt-get -qq download "$package" || { apt-get -qq update && apt-get -qq download "$package"; }; })
		rm -rf "unpacked/$package.new"
		dpkg -x debs/"$package"_*.deb "unpacked/$package.new"
		mv "unpacked/$package.new" "unpacked/$package"
	done
}

fresh() {
	[ -e "$1" ] && [ "$(cat "$1.stamp" 2>/dev/null)" = "$2" ]
}

initramfs() {
	rm -rf "$1"
	mkdir -p "$1/bin" "$1/sbin" "$1/dev" "$1/proc" "$1/sys" "$1/tmp" "$1/mnt" "$1/lib/modules" "$1/lib64"
	: >"$1/lib/modules/order"
	cp unpacked/busybox-static/bin/busybox "$1/bin/" 2>/dev/null || cp unpacked/busybox-static/usr/bin/busybox "$1/bin/"
	install -m 755 "$2" "$1/init"
}

# module_copy KERNEL ROOT NAME [PARAMETERS]: copy a module and its dependencies, in the order of loading.
module_copy() {
	modules=$(find "unpacked/$1/" -type d -path "*lib/modules/${1#linux-image-}")
	! grep -qE "^$3( |\$)" "$2/lib/modules/order" || return 0
	file=$(find "$modules" -name "$3.ko*" -o -name "$(printf %s "$3" | tr _ -).ko*" | head -n 1)
	[ "$file" ] || return 0 # built in
	for needed in $(modinfo -F depends "$file" | tr , ' '); do
		(module_copy "$1" "$2" "$needed")
	done
	case $file in
	*.xz) xz -dc "$file" >"$2/lib/modules/$3.ko" ;;
	*) cp "$file" "$2/lib/modules/$3.ko" ;;
	esac
	$strip -g "$2/lib/modules/$3.ko"
	echo "$3 ${4:-}" >>"$2/lib/modules/order"
}

# A NAME may have a parameter behind a colon.
module() {
	module_kernel=$1
	module_root=$2
	shift 2
	for name; do
		case $name in
		*:*) module_copy "$module_kernel" "$module_root" "${name%%:*}" "${name#*:}" ;;
		*) module_copy "$module_kernel" "$module_root" "$name" ;;
		esac
	done
}

pack() {
	(cd "$1" && find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --quiet) >"$2"
}

# A sparse file. With less room the archive's guard of free space would delete what the lab looks for.
disk() {
	truncate -s 4G "$2.new"
	mke2fs -q -F -t ext4 -O ^has_journal -d "$1" "$2.new"
	mv "$2.new" "$2"
}

# xen_version: print the version of Debian's Xen: 4.17 in Debian 12, 4.20 in Debian 13.
xen_version() {
	apt-cache pkgnames xen-utils- | sed -n 's/^xen-utils-\([0-9.]*\)$/\1/p' | sort -V | tail -n 1
}

# packages_dom0 XEN: print the dependencies of the project's packages, and the programs of the scenario.
packages_dom0() {
	echo systemd systemd-sysv dbus kmod procps iproute2 "xen-utils-$1" xenstore-utils python3-minimal libpython3-stdlib curl \
		debconf sensible-utils libsystemd0 libsqlite3-0 libzstd1 libxxhash0 libinih1 libjansson4 libprotobuf-c1 libpq5 libdw1 \
		libxenstore4 libxengnttab1 libxenevtchn1 "libxenmisc$1"
	# In Debian 13 these names have a suffix.
	apt-cache pkgnames lib | grep -xE '(libgnutls30|libmicrohttpd12|libcurl4|libarchive13)(t64)?' | sort -r |
		awk '{ name = $0; sub("t64$", "", name) } name != before { print } { before = name }'
}
