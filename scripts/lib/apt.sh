# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# apt.sh - fetch Debian packages through a private apt: its own lists, package
# cache and (empty) dpkg status, so that the user's system keeps its suites as
# they are and no root is needed.  The mirror is the one the machine itself
# uses, asked from apt at run time.  Signatures are checked as always, against
# Debian's own keyring.  Source common.sh first.

# suite_of_host: the code name of the Debian release this machine runs.
suite_of_host() {
	# shellcheck disable=SC1091 # not ours
	(. /etc/os-release && echo "${VERSION_CODENAME:?}")
}

# host_source: "URI SUITE" for each main archive of the machine's own sources.
host_source() {
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets 'Created-By: Packages' 'Component: main' \
		--format '$(REPO_URI) $(RELEASE)' | sort -u |
		grep -E " (bookworm|trixie|stable|oldstable)(-updates|-security)?$" ||
		die "no Debian archive among this machine's apt sources"
}

debian_mirror() {
	host_source | awk '$2 !~ /-/ { print $1; exit }'
}

debian_keyring() {
	local f
	for f in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
		[ -r "$f" ] && { echo "$f"; return; }
	done
	die "no Debian keyring: install debian-archive-keyring"
}

# apt_root NAME ARCHES SOURCES: make (or reuse) the private apt NAME for the
# space-separated ARCHES (first one native) and the lines "URI SUITE" of
# SOURCES; update its lists.  Sets APT_CONF for apt_do.
apt_root() {
	local root=$CACHE/apt/$1 arches=$2 sources=$3 keyring
	keyring=$(debian_keyring)
	mkdir -p "$root"/{state/lists/partial,cache/archives/partial,etc}
	: >"$root/status"
	printf '%s\n' "$sources" | sort -u |
		sed "s|^\([^ ]*\) \(.*\)|deb [signed-by=$keyring] \1 \2 main|" \
			>"$root/etc/sources.list"
	# "#clear" drops hooks of the machine's own configuration, which are
	# about its own caches; its proxy settings stay in force.
	# Sandbox::User: as root, apt would drop to user _apt, who cannot enter
	# a cache below root's home; this changes no check of a signature.
	# shellcheck disable=SC2086 # a list of words
	cat >"$root/apt.conf" <<-CONF
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	#clear APT::Update::Pre-Invoke;
	#clear DPkg::Post-Invoke;
	#clear DPkg::Pre-Install-Pkgs;
	#clear APT::Architectures;
	APT::Architecture "${arches%% *}";
	APT::Architectures { $(printf '"%s"; ' $arches)};
	APT::Sandbox::User "root";
	APT::Install-Recommends "false";
	APT::Get::AllowUnauthenticated "false";
	Acquire::AllowInsecureRepositories "false";
	Acquire::Languages "none";
	Acquire::Retries "3";
	Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
	Dir::State "$root/state";
	Dir::State::status "$root/status";
	Dir::Cache "$root/cache";
	Dir::Etc::sourcelist "$root/etc/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	CONF
	APT_CONF=$root/apt.conf
	APT_ARCHIVES=$root/cache/archives
	apt-get -c "$APT_CONF" -q update >&2
}

# apt_newest REGEX: the package whose whole name matches REGEX and whose name
# sorts highest as a version; nothing if there is none.
apt_newest() {
	apt-cache -c "$APT_CONF" pkgnames | grep -xE "$1" | sort -uV | tail -n 1
}

# apt_get DIR ARGUMENT...: run apt-get, which puts packages into DIR.  Where
# NPUMEM_DEBS names a folder, what is there is not downloaded again, if it is,
# by its digest, what the archive has today; and what is downloaded goes there.
apt_get() {
	local dir=$1 file hash have=yes
	shift
	if [ -n "${NPUMEM_DEBS-}" ]; then
		while read -r _ file _ hash; do
			cp "$NPUMEM_DEBS/$file" "$dir/" 2>/dev/null &&
				echo "${hash#SHA256:}  $dir/$file" |
				sha256sum --status -c - 2>/dev/null || have=no
		done < <(apt-get -c "$APT_CONF" -qq --print-uris "$@" | grep "^'")
		[ $have = no ] || return 0
	fi
	rm -f "$dir"/*.deb
	(cd "$dir" && apt-get -c "$APT_CONF" -q "$@" >&2)
	[ -z "${NPUMEM_DEBS-}" ] || cp "$dir"/*.deb "$NPUMEM_DEBS/"
}

# apt_fetch DIR PACKAGE...: download these packages, not their dependencies,
# into DIR.
apt_fetch() {
	local dir=$1
	shift
	apt_get "$dir" download "$@"
}

# apt_closure DIR PACKAGE...: download the packages and all they depend on.
apt_closure() {
	local dir=$1
	shift
	rm -f "$APT_ARCHIVES"/*.deb
	apt_get "$APT_ARCHIVES" install -y --download-only "$@"
	mv "$APT_ARCHIVES"/*.deb "$dir"
}

# unpack DIR DEB...: unpack packages, keeping /lib and friends as the links
# that a merged /usr has.
unpack() {
	local dir=$1 d deb
	shift
	for d in bin sbin lib; do
		mkdir -p "$dir/usr/$d"
		[ -e "$dir/$d" ] || ln -s "usr/$d" "$dir/$d"
	done
	# tar, not dpkg-deb -x: it must follow those links.
	for deb in "$@"; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$dir" --keep-directory-symlink \
				--no-same-owner --exclude='./usr/share/doc/*' \
				--exclude='./usr/share/locale/*'
	done
}

# in_shell COMMANDS ARGUMENT...: these commands, with the arguments as $1 and so on, in a shell of
# their own.  It ends at the first that fails, which "set -e" does not see to where the caller
# asks whether it went well.
in_shell() {
	local commands=$1
	shift
	bash -euo pipefail -c ". \"\$0/lib/common.sh\"; . \"\$0/lib/apt.sh\"; $commands" \
		"$TOP/scripts" "$@"
}
