#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemctl history: a device recorded by top and monitor while two clients run and a plan is
# refused, and drawn.
# Functions are called by name, through check.
# shellcheck disable=SC2317
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SPILL=${SPILL:-/opt/npumem/e2e/spill}
ONE='' OTHER='' RECORDER=''

# client FILE: one that runs until it is ended; what it says is in FILE.
client() {
	npumemctl run -j --timeout 3000 --repeat 1000000 --plan "$SPILL/spilled.plan.json" \
		"$SPILL/spilled.json" >"$1" 2>&1 &
}
# of PID: lines of the recording in which it holds some of the carveout.
of() { grep -cE "\"pid\":$1,[^}]*\"carveout\":[1-9]" load.txt; }
seen() { [ "$(of "$ONE")" -gt 1 ] && [ "$(of "$OTHER")" -gt 1 ]; }

record() {
	offline_blobs "$MOBILENET" 1 && monitor 1 -j || return 1
	npumemctl top -j -n 1000000 --delay 0.2 >load.txt 2>top.err &
	RECORDER=$!
	client one.out
	ONE=$!
	client other.out
	OTHER=$!
	until_true 300 seen || { cat one.out other.out top.err; return 1; }
	"$ATTACK" overlap graph.blob plan.blob && monitor_ends || return 1
	kill -TERM "$RECORDER" && wait "$RECORDER" || return 1
	kill -KILL "$ONE" "$OTHER" || return 1
	wait "$ONE" "$OTHER"
	echo "$(wc -l <load.txt) samples, $(wc -l <events.txt) refusal"
}
# bands PID: those of the carveout and of the jobs that have boxes and the client's name.
bands() { grep -cE "d=\"M[^\"]*\"><title>npumemctl \(pid $1\)</title>" picture.svg; }
draw() {
	npumemctl history --svg picture.svg --html page.html load.txt events.txt || return 1
	# What they held is drawn for sure; jobs may have ended between two samples only.
	[ "$(bands "$ONE")" -ge 1 ] && [ "$(bands "$OTHER")" -ge 1 ] || return 1
	grep -qE '<title>[0-9]+\.[0-9]{3} s, plan refused: .*V4 write: step ' picture.svg || return 1
	grep -q "pid $ONE" page.html && grep -q 'V4 write: step ' page.html
}
# A recording that was cut off is drawn without its last line, which is said.
cut_off() {
	lines=$(wc -l <load.txt)
	head -c -20 load.txt >cut.txt
	npumemctl history --svg cut.svg cut.txt 2>cut.err || { cat cut.err; return 1; }
	cat cut.err
	[ "$(cat cut.err)" = "npumemctl: cut.txt: warning: line $lines: the last line was cut, and is left out" ] &&
		[ -s cut.svg ]
}

shown "two clients are recorded, and a refusal" record
check "they are drawn" draw
check "a recording that was cut off is drawn, but for its last line" cut_off
check_plan
