# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# roots.sh - roots of Debian systems: made once a week, unpacked, and entered.
# Source common.sh and apt.sh first; needs root, and mmdebstrap.
# The inner shells expand what is quoted.
# shellcheck disable=SC2016

mirror=$(debian_mirror)

# base NAME SUITE VARIANT PACKAGE...: the path of a root's tarball, made when
# there is none that is younger than a week.  Takes packages of $suite-backports, too,
# where $backports is not empty, and of the architecture $foreign.
base() {
	local name=$1 suite=$2 variant=$3 names sum tar backports=${backports-} foreign=${foreign-}
	shift 3
	names=$(tr ' ' , <<<"$*")
	sum=$(md5sum <<<"$names" | cut -c1-8)
	tar=$CACHE/packages/$suite-$name-$sum.tar
	if [ -z "$(find "$tar" -mtime -7 2>/dev/null)" ]; then
		mkdir -p "$CACHE/packages"
		mmdebstrap --mode=root --variant="$variant" --include="$names" \
			${foreign:+--architectures="amd64,$foreign"} \
			--skip=essential/unlink "$suite" "$tar.$$.tar" "$mirror" \
			${backports:+"deb $mirror $suite-backports main"} \
			>"$LOGS/packages-$suite-$name.log" 2>&1 </dev/null || return 1
		publish "$tar.$$.tar" "$tar"
	fi
	echo "$tar"
}

# inside ROOT NET COMMAND: a shell's COMMAND in the root, with its own mounts and
# processes; NET is "net", or "alone" for one without network.
inside() {
	local root=$1 alone=--net
	[ "$2" = alone ] || alone=
	unshare --mount --pid $alone --fork --kill-child bash -euc '
		mount --make-rprivate /
		mount -t proc proc "$1/proc"
		mount -t devpts -o newinstance,ptmxmode=0666 pts "$1/dev/pts"
		mount -t tmpfs tmp "$1/tmp"
		cp /etc/resolv.conf "$1/etc/resolv.conf"
		exec chroot "$1" env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -euc "$2"
		' inside "$root" "$3" </dev/null
}

# unpack_root TARBALL ROOT: what was there goes.
unpack_root() {
	rm -rf --one-file-system "$2"
	mkdir -p "$2"
	tar -xf "$1" -C "$2" --numeric-owner
}

# build_names SUITE: what a root has, beside what is essential, that builds the packages: names, or
# what else they provide.
build_names() {
	sed -n '/^Build-Depends:/,/^[A-Z]/p' "$TOP/debian/control" |
		sed -n 's/^ \([a-z0-9.+-]*\).*/\1/p' |
		sed 's/^debhelper-compat$/debhelper/; s/^dh-sequence-dkms$/dh-dkms/; /^dh-sequence-installsysusers$/d' |
		if [ "$1" = bookworm ]; then grep -v '^libhighs-dev$'; else cat; fi
}

# depends DEB...: names that the packages depend on, but for their own.
depends() {
	local deb
	for deb in "$@"; do dpkg-deb -f "$deb" Depends Pre-Depends; done |
		sed 's/^[A-Za-z-]*: //' | tr , '\n' | sed 's/|.*//; s/(.*//; s/ //g' | sort -u |
		grep -vE '^(|npumem.*|libnpu.*)$'
}
