#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fresh-machine.sh - README's commands on a bare machine, as TAP: run in its
# root by scripts/lanes/fresh, with the release's name.  What they say is shown
# of those that fail.
# Functions are called by name, through check.
# shellcheck disable=SC2317
set -u
suite=$1
cd /root || exit 1

n=0 failed=0
# check NAME COMMAND...: one test; its output is left in /tmp/out.
check() {
	name=$1
	shift
	n=$((n + 1))
	if "$@" >/tmp/out 2>&1 </dev/null; then
		echo "ok $n - $suite: $name"
	else
		failed=1
		echo "not ok $n - $suite: $name"
		# Of a command that runs tests, those that failed.
		{ grep -A 8 '^not ok' /tmp/out; tail -n 25 /tmp/out; } | sed 's/^/# /'
	fi
}

manual() { apt-mark showmanual | sort; }

cloned() { git clone -q /project.git npumem; }

# README has each command that is run here, word by word.
promised() {
	for command in make 'make install' 'make demo' 'npumemctl plan'; do
		grep -qF "$command" README.md || { echo "README.md does not say: $command"; return 1; }
	done
}

without() {
	NPUMEM_DEPS=no make && { echo "there is no compiler: how was it built?"; return 1; }
	manual >/tmp/after
	cmp /tmp/before /tmp/after && grep -q 'meson' /tmp/out
}

# What has been installed since was named, each with what it is for.
named() {
	manual >/tmp/after
	for package in $(comm -13 /tmp/before /tmp/after); do
		grep -qE "^ +$package +[^ ]" /tmp/said || { echo "$package was not named"; return 1; }
	done
	grep -q 'NPUMEM_DEPS=no' /tmp/said || { echo "not said how to do without"; return 1; }
}

built() {
	make
	rc=$?
	cat /tmp/out >>/tmp/said
	return "$rc"
}

# Tests are not what was asked for.
no_tests() {
	found=$(find build -path '*tests*' -name 'test_*' -type f)
	echo "$found"
	[ -z "$found" ]
}

installed_tool() {
	npumemctl --version && npumemd --version &&
		npumemctl plan tests/graphs/mobilenet_v2.fused.json -o /tmp/plan.json &&
		npumemctl verify tests/graphs/mobilenet_v2.fused.json /tmp/plan.json &&
		npumemctl show --graph tests/graphs/mobilenet_v2.fused.json /tmp/plan.json
}

demo() {
	make demo
	rc=$?
	cat /tmp/out >>/tmp/said
	tail -n 1 /tmp/out | grep -qE '^[1-9][0-9]* passed, 0 failed$' || return 1
	return "$rc"
}

# A system of another kind: no dpkg, all libraries there.
without_dpkg() {
	mv /usr/bin/dpkg-query /usr/bin/dpkg-query.away
	make BUILD=other other/userspace/build.ninja
	rc=$?
	mv /usr/bin/dpkg-query.away /usr/bin/dpkg-query
	return "$rc"
}

clean() {
	[ -z "$(git status --porcelain)" ] || { git status --porcelain; return 1; }
}

manual >/tmp/before
: >/tmp/said
check 'git clone' cloned
cd npumem || exit 1
check 'README says what is run here' promised
check 'NPUMEM_DEPS=no make: nothing installed, what is missing is named' without
check 'make' built
check 'make builds no test' no_tests
check 'make install' make install
check 'the installed programs run, plan, verify and show' installed_tool
check 'make demo, to its last line' demo
check 'every package installed was named, with what it is for' named
check 'make without dpkg' without_dpkg
check 'the clone is as clean as before' clean
echo "1..$n"
exit $failed
