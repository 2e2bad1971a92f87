# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# soak_clients.sh - the clients of tests/e2e/soak.sh: inferences one after the other, each by a
# process of its own, and what became of them, in files:
# right (client, kind, "calm" or "met", ms of all, ms of planning), refused (reasons), wrong.
# One more asks for metrics: scrapes (requests, searches by outcome), unanswered (exit codes).
# It stands beside e2e.sh, whose words it has.

# random LIMIT: from 0 on, to DRAWN
random() {
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	DRAWN=$(((SEED >> 12) % $1))
}
# shuffled WORDS: in another order
shuffled() {
	for word in $1; do
		random 100000
		echo "$DRAWN $word"
	done | sort -n | cut -d ' ' -f 2
	# The draws were a subshell's.
	random 2
}
sleep_ms() { usleep $(($1 * 1000)); }

# quantiles WHAT COLUMN: of stdin's; fails where there are none
quantiles() {
	sort -n -k "$2,$2" | awk -v what="$1" -v column="$2" '
		{ value[NR] = $column }
		END {
			if (!NR) exit 1
			printf "%s: median %d, 99 of 100 %d, most %d, of %d\n", what,
				value[int((NR + 1) / 2)], value[int((NR * 99 + 99) / 100)], value[NR], NR
		}'
}

# What a client asks for: each line another kind.
KINDS=10
# One more, for which nothing is proved in a minute.
SEARCHED=10
kind() {
	case $1 in
	0) echo "$GRAPHS/loop_conv.json" ;;
	1) echo "--planner nnc $GRAPHS/loop_nested.json" ;;
	2) echo "--bands 4 $GRAPHS/mobilenet_v1_025.fused.json" ;;
	3) echo "--planner taa --onchip 64KiB $GRAPHS/mobilenet_v1_025.fused.json" ;;
	4) echo "--planner greedy $GRAPHS/squeezenet1_1.fused.json" ;;
	5) echo "--planner cosma --arena-budget MR $GRAPHS/mobilenet_v1_025.fused.json" ;;
	6) echo "--engine npumem-engine $TFLITE/hello_world_int8.tflite" ;;
	7) echo "--engine npumem-engine $TFLITE/micro_speech_quantized.tflite" ;;
	8) echo "--path 0 $GRAPHS/case_of.json" ;;
	9) echo "--repeat 3 $GRAPHS/while_swap.json" ;;
	"$SEARCHED") echo "--planner cosma --arena-budget MR --rows 8 $GRAPHS/squeezenet1_1.fused.json" ;;
	esac
}
TFLITE=${TFLITE:-/opt/npumem/tflite}

# Why npumemctl may refuse what such a disturbance meets, as its last line has it. What is not
# here may refuse nothing.
DAEMON_MISSED='no planning daemon|the daemon went away'
ENGINE_MISSED='none of its engines is "npumem-engine"|no process is attached|the run is lost'
reasons_of() {
	case $1 in
	daemon_killed) echo "$DAEMON_MISSED" ;;
	daemon_replaced) echo "$DAEMON_MISSED|npumemd is shutting down" ;;
	engine_killed) echo "$ENGINE_MISSED" ;;
	out_of_memory)
		echo "$DAEMON_MISSED|$ENGINE_MISSED|^killed\$|Cannot allocate memory|planning process was killed|and nothing says why"
		;;
	device_gone) echo "$DAEMON_MISSED|$ENGINE_MISSED|No such device|there is no npumem device" ;;
	*) echo '^$' ;;
	esac
}

# Disturbances are lines of the file storms; in a calm their number is in the file calm.
storms() { wc -l <storms; }
# met_since N: those that came after the first N.
met_since() { tail -n "+$(($1 + 1))" storms; }
# may_refuse N WHY: one of them explains it
may_refuse() {
	for how in $(met_since "$1"); do
		! echo "$2" | grep -qE "$(reasons_of "$how")" || return 0
	done
	return 1
}

# one_inference CLIENT KIND: in a process of the group that runs out of memory.
one_inference() {
	seen=$(cat calm 2>/dev/null) || seen=$(($(storms) - 1))
	began=$(uptime_ms)
	random 1000
	# shellcheck disable=SC2046,SC2016 # words; they are the inner shell's
	sh -c 'echo $$ >"$0" && exec npumemctl run -j --timeout 300 "$@"' "$CGROUP/soak/cgroup.procs" \
		--seed $((DRAWN + 1)) $(kind "$2") >"c$1.json" 2>"c$1.err"
	one_rc=$?
	took=$(($(uptime_ms) - began))
	met=calm
	[ "$(storms)" = "$seen" ] || met=met
	if [ $one_rc = 0 ] && [ "$(field equal "c$1.json")" = true ]; then
		echo "$1 $2 $met $took $(field seconds "c$1.json" | awk '{ print int($1 * 1000) }')" >>right
		return
	fi
	why=$(sed 's/^npumemctl: //' "c$1.err" | tail -n 1)
	[ $one_rc != 137 ] || why=killed
	if [ $one_rc != 0 ] && may_refuse "$seen" "$why"; then
		echo "$why" >>refused
	else
		echo "client $1, kind $2, exit $one_rc: $why (met: $(met_since "$seen" | xargs))" >>wrong
	fi
}
be_client() {
	SEED=$((SEED + $1 * 7919))
	while [ ! -e stop ]; do
		random "$KINDS"
		one_inference "$1" "$DRAWN"
		random 300
		sleep_ms "$DRAWN"
	done
}

# scrape: the metrics; exit 3: nobody answers, 1: not to the end
scrape() { /opt/npumem/e2e/npumem_scrape "$PWD/metrics"; }
# What may leave one unanswered: the daemon is another one.
may_be_silent() {
	met_since "$1" | grep -qxE 'daemon_killed|daemon_replaced|out_of_memory'
}
one_scrape() {
	scrape_seen=$(cat calm 2>/dev/null) || scrape_seen=$(($(storms) - 1))
	scrape_rc=0
	scrape >scrape.out 2>scrape.err || scrape_rc=$?
	if [ $scrape_rc = 0 ]; then
		awk '
			$1 == "npumemd_request_duration_seconds_count" { requests = $2 }
			$1 == "npumemd_searches_ended_total{outcome=\"better\"}" { better = $2 }
			$1 == "npumemd_searches_ended_total{outcome=\"no-better\"}" { none = $2 }
			$1 == "npumemd_searches_ended_total{outcome=\"failed\"}" { failed = $2 }
			END { print requests + 0, better + 0, none + 0, failed + 0 }' scrape.out >>scrapes
	elif [ $scrape_rc = 3 ] && may_be_silent "$scrape_seen"; then
		echo $scrape_rc >>unanswered
	else
		echo "metrics, exit $scrape_rc: $(cat scrape.err) (met: $(met_since "$scrape_seen" |
			xargs))" >>wrong
	fi
}
be_scraper() {
	while [ ! -e stop ]; do
		one_scrape
		sleep_ms 2000
	done
}
