#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemctl top while a client runs: what it holds, how busy its engine is, what it moves; what
# another user sees of it; in a terminal and without one.
# Functions are called by name, through check.
# shellcheck disable=SC2317
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SPILL=${SPILL:-/opt/npumem/e2e/spill}
RUN=

start_run() {
	npumemctl run -j --timeout 3000 --repeat 1000000 --plan "$SPILL/spilled.plan.json" \
		"$SPILL/spilled.json" >run.out 2>&1 &
	RUN=$!
	until_true 300 runs
}
stop_run() {
	kill -KILL "$RUN" || return 1
	wait "$RUN"
	! holds
}
# of_run WHAT: the number of that name of the client that runs, in top.json.
of_run() {
	sed 's/{"client":/\n&/g' top.json | grep "\"pid\":$RUN," >client.json || return 1
	field "$1" client.json
}
# top [OPTION...]: once, as JSON.
top() { npumemctl top -j -n 1 "$@" >top.json; }
above() { awk "BEGIN { exit !($1 > $2) }"; }
holds() { top --delay 0.1 && [ "$(of_run carveout)" -gt 0 ]; }
runs() { top --delay 0.5 && above "$(of_run jobs_per_second)" 0; }

seen() {
	top --delay 3 || return 1
	jobs=$(of_run jobs_per_second) moved=$(of_run moved_per_second)
	busy=$(grep -o '"busy": *[0-9.e-]*' client.json | sed 's/.*: *//' | sort -g | tail -n 1)
	echo "$(of_run carveout) bytes held, $jobs jobs and $moved bytes moved a second, busy $busy"
	above "$jobs" 0 && above "$moved" 0 && above "$busy" 0 && above 1.05 "$busy" || return 1
	[ "$(of_run seen)" = true ] && [ "$(of_run command)" = npumemctl ] || return 1
	# It holds what the administrator is told, and the bank lacks no less.
	npumemctl devices -j >devices.json || return 1
	sed 's/{"client":/\n&/g' devices.json | grep "\"pid\": *$RUN," >holder.json || return 1
	[ "$(field bytes holder.json)" = "$(of_run carveout)" ] && [ "$(field command holder.json)" = "$(of_run command)" ]
}
# As text, for whoever has no terminal.
as_text() {
	npumemctl top --delay 0.5 >top.txt || return 1
	cat top.txt
	grep -q "^bank 0 \[#" top.txt && grep -q "^ *$RUN root .* npumemctl$" top.txt
}
# In a terminal of 24 lines of 80 characters, where q ends it: it draws again and again, in as many
# lines at most, and leaves what was there.
in_a_terminal() {
	TERM=xterm /opt/npumem/e2e/npumem_pty 24 80 5 q npumemctl top --delay 0.5 >screen.out || return 1
	tr '\033' '\n' <screen.out >screen.parts
	[ "$(head -n 2 screen.parts | tail -n 1)" = '[?1049h' ] || return 1
	[ "$(tail -n 1 screen.parts)" = '[?1049l' ] || return 1
	awk -v RS='\033' '/^\[J/ {
			frames++
			lines = split(substr($0, 3), line, "\r*\n")
			if (lines > 24) exit bad = 1
			for (i in line) if (length(line[i]) > 80) exit bad = 1
		}
		END { exit bad || frames < 3 }' screen.out
}
# Another user sees that it is there, and not what it does.
by_others() {
	chmod a+rw /dev/accel/accel* /dev/dri/renderD* 2>/dev/null
	su -s /bin/sh nobody -c 'npumemctl top -j -n 1 --delay 0.5' >top.json || return 1
	! of_run pid && [ "$(field hidden_processes top.json)" -gt 0 ] || return 1
	su -s /bin/sh nobody -c 'npumemctl top --delay 0.5' >top.txt || return 1
	cat top.txt
	grep -q 'others, who are not for this user to see, hold [0-9]' top.txt
}

check "a client runs" start_run
shown "top: what it holds, runs and moves" seen
shown "top without a terminal" as_text
check "top in a terminal, until q" in_a_terminal
shown "top of a user who may not see it" by_others
check "it ends, and holds nothing" stop_run
check "no device of that name: it is said" fails 1 'npumemctl: /dev/accel/accel99: ' \
	npumemctl top -d /dev/accel/accel99
check_plan
