#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npumemd keeps plans: a request that was answered before is answered at once, also by the next
# daemon, and whatever becomes of the files, a program gets its plan.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2015
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

printf '[cache]\nfolder = %s/plans\n' "$PWD" >cache.conf
start() { start_daemon --config cache.conf; }

# last WORDS: the microseconds that the last request took, which the log says so of.
last() {
	tail -n 1 daemon.log >last.log
	grep -q -- "$1" last.log || { cat daemon.log; return 1; }
	echo "answered in $(sed 's/.* in \([0-9]*\) us: .*/\1/' last.log) us: $1"
}

asks() { npumemctl run -j "$@" >run.json && equal run.json; }
# The log has its line when the driver's verdict has come, a moment after the client has its plan.
said() { # WORDS
	until_true 60 last "$1" >/dev/null
	last "$1"
}
planned() { asks "$@" && said "planned by auto"; }
kept() { asks "$@" && said "has the plan kept of auto"; }

same_plan() {
	asks -o second.json "$MOBILENET" && cmp first.json second.json
}

again() {
	stop_daemon && start
}

# The daemon is killed at any moment, sixteen times, while programs ask for plans: before, while and
# after it does what took so many microseconds when nobody disturbed it.
killed_often() {
	asks --planner greedy --align 256 "$MOBILENET" && said 'planned by greedy' || return 1
	took=$(sed 's/.* in \([0-9]*\) us: .*/\1/' last.log)
	stop_daemon
	rm -rf plans
	i=0
	while [ "$i" -lt 16 ]; do
		start || return 1
		npumemctl run -j --planner greedy --align $((1 << (i % 8))) "$MOBILENET" >run.json 2>&1 &
		run=$!
		usleep $((i * (${took:?} + 200000) / 8))
		kill_daemon || return 1
		wait "$run"
		i=$((i + 1))
	done
	start || return 1
	# Each file that is there is whole.
	npumemctl cache --folder plans list -j >list.json || { cat list.json; return 1; }
	count=$(grep -o '"key"' list.json | wc -l)
	echo "plans kept: $count"
	[ "$count" -gt 0 ] || return 1
	asks --planner greedy "$MOBILENET"
}

damaged() {
	for file in plans/*.plan; do
		truncate -s 700 "$file"
	done
	asks "$MOBILENET" && said "planned by auto" &&
		grep -q "a file was damaged, and is removed" daemon.log
}

ahead_of_time() {
	npumemctl cache --folder plans warm "$GRAPHS/squeezenet1_1.fused.json" &&
		kept "$GRAPHS/squeezenet1_1.fused.json"
}

# Inputs are loaded where a planner that moves tensors is named, as far as nobody says anything else.
ahead_of_time_moved() { # [--planner NAME]
	set -- "$@" --objective traffic --arena-budget 400K "$GRAPHS/mobilenet_v1_025.fused.json"
	npumemctl cache --folder plans warm "$@" && asks "$@" && said "has the plan kept of cosma"
}

removed_folder() {
	rm -rf plans
	planned "$MOBILENET" && kept "$MOBILENET"
}

full_disk() {
	stop_daemon
	mkdir -p full && mount -t tmpfs -o size=4k none full || return 1
	dd if=/dev/zero of=full/others bs=4k count=1 2>/dev/null
	printf '[cache]\nfolder = %s/full\n' "$PWD" >full.conf
	start_daemon --config full.conf && planned "$MOBILENET" && planned "$MOBILENET" &&
		grep -q "is not kept: No space left on device" daemon.log && [ "$(ls full)" = others ]
	rc=$?
	stop_daemon
	umount full
	return "$rc"
}

# traffic FILE: bytes that the driver has counted between arena and host memory, but for the first
# load of what starts there.
moved() { echo $(($(counted spill "$1") + $(counted fill "$1"))); }

asks_traffic() { # FILE [OPTION...]
	file=$1
	shift
	npumemctl run -j --planner cosma --arena-budget MR "$@" "$MOBILENET" >"$file" && equal "$file"
}

first_answer() {
	stop_daemon
	rm -rf plans
	printf '[cache]\nfolder = %s/plans\n[improve]\ntime = 120\nfirst-answer = 1\n' "$PWD" >improve.conf
	start_daemon --config improve.conf && asks_traffic first.json || return 1
	grep "planned by cosma" daemon.log
	echo "moved: $(moved first.json) bytes"
	[ "$(moved first.json)" -gt 0 ]
}

found_better() { grep "a better plan was found" daemon.log; }

# A program goes on with the plan that it has, while another one gets the better one.
better_answer() {
	npumemctl run -j --repeat 3 --planner cosma --arena-budget MR "$MOBILENET" >old.json &
	run=$!
	until_true 300 found_better || { cat daemon.log; return 1; }
	asks_traffic better.json || return 1
	echo "moved: $(moved better.json) bytes"
	wait "$run" && equal old.json && [ "$(moved better.json)" -lt "$(moved first.json)" ]
}

check "npumemd registers" start
shown "the first time it plans" planned -o first.json "$MOBILENET"
shown "the second time it has the plan" kept "$MOBILENET"
check "it is the same plan" same_plan
check "a new daemon" again
shown "has it, too" kept "$MOBILENET"
shown "another budget is another request" planned --arena-budget 64MiB "$MOBILENET"
shown "a plan made ahead of time" ahead_of_time
shown "one by a planner that moves tensors" ahead_of_time_moved --planner cosma
shown "and by npumemd's own for an objective" ahead_of_time_moved
shown "a folder that was removed comes again" removed_folder
shown "killed sixteen times at any moment: all files are whole" killed_often
check "files cut short are plans to be made again" asks "$MOBILENET"
shown "and are" damaged
shown "a full disk: plans are made, and not kept" full_disk
shown "a first answer, found in a moment" first_answer
shown "a better one for who asks later" better_answer
finish
