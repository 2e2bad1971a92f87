# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# check.sh - tests in shell, as TAP, in any POSIX shell. Source it; end with check_plan.
# What a test has said lies in check.out, in the folder that the tests run in.

N=0 FAILED=0

# check NAME COMMAND...: one test; what the command says if it fails.
check() {
	check_name=$1
	shift
	N=$((N + 1))
	if "$@" >check.out 2>&1; then
		echo "ok $N - $check_name"
	else
		echo "not ok $N - $check_name"
		sed 's/^/# /' check.out
		FAILED=$((FAILED + 1))
	fi
}

# skipped NAME WHY: a test that cannot run here.
skipped() {
	N=$((N + 1))
	echo "ok $N - $1 # SKIP $2"
}

# check_plan: TAP's last line; fails if a test has failed.
check_plan() {
	echo "1..$N"
	[ "$FAILED" = 0 ]
}
