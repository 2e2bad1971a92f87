# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# check.sh - tests in shell, as TAP, in any POSIX shell. A script sources it and ends with
# check_plan. What the last test has said lies in the file $CHECK_OUT.

N=0 FAILED=0 CHECK_OUT=check.out

# check_why: says, as comments, why the last test has failed. A script may have another one.
check_why() { sed 's/^/# /' "$CHECK_OUT"; }

# check NAME COMMAND...: runs one test, in this shell.
check() {
	check_name=$1
	shift
	N=$((N + 1))
	if "$@" >"$CHECK_OUT" 2>&1; then
		echo "ok $N - $check_name"
	else
		echo "not ok $N - $check_name"
		check_why
		FAILED=$((FAILED + 1))
	fi
}

# skipped NAME WHY: counts a test that cannot run here.
skipped() {
	N=$((N + 1))
	echo "ok $N - $1 # SKIP $2"
}

# check_plan: prints TAP's last line, and fails if a test has failed.
check_plan() {
	echo "1..$N"
	[ "$FAILED" = 0 ]
}
