#!/bin/sh
# SPDX-License-Identifier: MIT
#
# soak.sh - a day in the life of a device: twenty clients with mixed models come and go, while daemon,
# engine, disk, clock, memory and device are not what they should be. For so many seconds as
# SOAK_SECONDS says, or the first word of the file that scripts/soak puts here; the second is a seed.
#
# Between two disturbances there is a calm, and an inference that began and ended in one is to
# be right. What a disturbance meets may be refused, for one of the reasons that it can have, and
# never be wrong. npumemd searches for better plans meanwhile, and tells its metrics whenever it
# is there. At last nothing is left of all.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2015,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh
# shellcheck source=tests/lib/soak_clients.sh
. /opt/npumem/e2e/soak_clients.sh

[ -n "${SOAK_SECONDS:-}" ] || read -r SOAK_SECONDS SEED </opt/npumem/soak/what
SEED=${SEED:-1}
echo "# $SOAK_SECONDS seconds, seed $SEED"
CLIENTS=20
CGROUP=/sys/fs/cgroup
DRIVER=/sys/bus/platform/drivers/npumem-sim

# ------------------------------------------------------------------ disturbances

# configured NICE: searches have a fifth of a processor, since an emulator has few.
configured() {
	cat >soak.conf <<-EOF
		[cache]
		folder = $PWD/keep
		[improve]
		time = 5
		share = 20
		[metrics]
		socket = $PWD/metrics
		[others]
		nice = $1
	EOF
}

# What is alive in a calm: the daemon, and an engine in a process.
daemon() {
	start_daemon --config soak.conf && echo "$DAEMON" >$CGROUP/soak/cgroup.procs
}
engine() { start_engine; }
well() {
	[ -n "$DAEMON" ] && kill -0 "$DAEMON" 2>/dev/null || { wait "$DAEMON"; daemon; } || return 1
	attached || { stop_engine KILL 2>/dev/null; engine; } || return 1
	scrape >well.out 2>&1
}

daemon_killed() {
	kill_daemon 2>/dev/null
	random 2000
	sleep_ms "$DRAWN"
	daemon
}
# As an upgrade does it: SIGTERM, and the next one.
daemon_replaced() { stop_daemon && daemon; }
daemon_told() {
	random 20
	configured "$DRAWN"
	told=$(times_told)
	kill -HUP "$DAEMON"
	# Before it a calm would be none.
	until_true 300 was_told
}
times_told() { grep -c 'configuration read again' daemon.log; }
was_told() { [ "$(times_told)" -gt "$told" ]; }
engine_killed() {
	stop_engine KILL 2>/dev/null
	random 1000
	sleep_ms "$DRAWN"
	engine
}
# The folder of kept plans is on a disk of a megabyte, which others fill.
disk_full() {
	# A writer who fails gives back what it had, so there may be a block again by now.
	dd if=/dev/zero of=keep/others bs=4k 2>full.err
	sleep_ms 2000
	rm keep/others
	grep -q 'No space left on device' full.err || { cat full.err; return 1; }
}
clock_jumps() {
	for step in 86400 -172800 86400; do
		date -s "@$(($(date +%s) + step))" >/dev/null || return 1
		sleep_ms 700
	done
}
# Clients, daemon and workers have so little that some of them are killed.
out_of_memory() {
	killed=$(ooms)
	for most in 6M 4M 3M 2M 1M; do
		echo $most >$CGROUP/soak/memory.max
		until_true 2 some_killed && break
	done
	echo max >$CGROUP/soak/memory.max
	[ "$(ooms)" -gt "$killed" ] || { cat $CGROUP/soak/memory.events; return 1; }
}
some_killed() { [ "$(ooms)" -gt "$killed" ]; }
ooms() { awk '$1 == "oom_kill" { print $2 }' $CGROUP/soak/memory.events; }
device_gone() {
	device=
	for link in "$DRIVER"/*; do
		[ ! -e "$link/of_node" ] || device=${link##*/}
	done
	[ -n "$device" ] || { ls "$DRIVER"; return 1; }
	echo "$device" >"$DRIVER"/unbind || return 1
	random 1000
	sleep_ms "$DRAWN"
	echo "$device" >"$DRIVER"/bind || return 1
	# npumemd is the driver's, whichever devices that has. The engine was attached to the one that went.
	stop_engine 2>/dev/null
	engine
}

DISTURBANCES='daemon_killed daemon_replaced daemon_told engine_killed disk_full clock_jumps
	out_of_memory device_gone'

# disturbed HOW: that, then a calm of some seconds.
disturbed() {
	rm -f calm
	echo "$1" >>storms
	"$1" || { echo "$1 failed"; return 1; }
	until_true 300 well || { echo "after $1 it is not well again"; return 1; }
	storms >calm.new && mv calm.new calm
	random 3000
	sleep_ms $((DRAWN + 3000))
	weigh_daemon || { echo "after $1 the daemon has gone in a calm"; return 1; }
}
# Its pid, and what it has, in KiB: of memory, and of that of its own.
weigh_daemon() {
	awk -v pid="$DAEMON" '
		/^VmRSS:/ { all = $2 }
		/^RssAnon:/ { own = $2 }
		END { if (all) print pid, all, own; exit !all }' "/proc/$DAEMON/status" >>weights
}
# Plans that were searched for are not again: without them disturbances would meet no search.
forget_plans() { npumemctl cache --folder keep drop --all; }

# All in turns, in another order each time, until the time is over.
disturbances() {
	end_of_soak=$(($(uptime_ms) + SOAK_SECONDS * 1000))
	while :; do
		forget_plans || return 1
		for how in $(shuffled "$DISTURBANCES"); do
			disturbed "$how" || return 1
			[ "$(uptime_ms)" -lt "$end_of_soak" ] || [ "$(storms)" -lt 8 ] || return 0
		done
	done
}
each_came() {
	sort storms | uniq -c
	for how in $DISTURBANCES; do
		grep -q "^$how\$" storms || { echo "no $how"; return 1; }
	done
}

# ----------------------------------------------------------------------- the end

# All go home, by themselves.
all_gone() {
	touch stop
	for pid in $PIDS; do
		wait "$pid" || { echo "client $pid: exit $?"; return 1; }
	done
	PIDS=
}
nothing_wrong() {
	cat wrong 2>/dev/null
	[ ! -s wrong ]
}
# Each client had right inferences.
all_served() {
	awk '{ print $1 }' right | sort -n | uniq -c | awk '
		{ n++; all += $1; if (n == 1 || $1 < least) least = $1 }
		END { print all, "inferences,", least, "or more of each of", n, "clients" }
		END { exit n != '$CLIENTS' }'
}
reasons() {
	echo "refused:"
	sort refused | uniq -c | sort -rn
	[ -s refused ]
}
# Daemons are killed, so searches of the last seconds of each are not known.
metrics_told() {
	one_scrape
	[ ! -s wrong ] || { cat wrong; return 1; }
	echo "$(wc -l <scrapes) scrapes, and $(wc -l <unanswered) that found no daemon"
	awk '
		# A count that is less is one of another daemon.
		$1 < last[1] || $2 < last[2] || $3 < last[3] || $4 < last[4] { add() }
		{ for (i = 1; i <= 4; i++) last[i] = $i }
		function add() { for (i = 1; i <= 4; i++) sum[i] += last[i] }
		END {
			add()
			printf "searches: %d found a better plan, %d none, %d failed\n",
				sum[2], sum[3], sum[4]
			exit !(sum[2] + sum[3] + sum[4])
		}' scrapes
}
# Pages of files are the kernel's to take and give back, so that only the daemon's own count. What
# its C library keeps for later is some hundred KiB; what is lost at each request would be more.
daemon_stays_small() {
	awk '
		!($1 in first) { first[$1] = $3 }
		NR == 1 { all = $2; own = $3 }
		{ last_all = $2; last_own = $3 }
		$3 - first[$1] > most { most = $3 - first[$1] }
		END {
			printf "npumemd has %d KiB of its own in the first calm, %d in the last; ",
				own, last_own
			printf "one daemon grew by %d at most (limit 2048); with files %d and %d\n",
				most, all, last_all
			exit !NR || last_own - own > 2048 || most > 2048
		}' weights
}
# Of all, and of inferences that no disturbance met; the planning alone, too.
latencies() {
	awk '$3 == "calm"' right >right.calm
	quantiles 'a process, planned and run, ms' 4 <right &&
		quantiles 'the same in calms, ms' 4 <right.calm &&
		quantiles 'plan, ms' 5 <right && quantiles 'plan, in calms, ms' 5 <right.calm
}
available() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
}
# In KiB, once it does not rise any more. A processor keeps pages that were freed for itself, tens
# of MiB at most, which the kernel gives back in the seconds after that, and counts as used until then.
memory_free() {
	most=0
	still=0
	while [ $still -lt 5 ]; do
		sleep_ms 1000
		here=$(available)
		still=$((still + 1))
		[ "$here" -le $((most + 256)) ] || still=0
		[ "$here" -le $most ] || most=$here
	done
	echo "$most"
}
no_memory_lost() {
	now=$(memory_free)
	echo "available: $BEFORE KiB before, $now after"
	# What the kernel keeps of pages and objects for later varies by some MiB.
	[ $((BEFORE - now)) -lt 16384 ]
}
nobody_holds() {
	npumemctl devices -j >devices.json
	grep -q '"holders":\[\]' devices.json || { cat devices.json; return 1; }
	awk -v RS='{' '/"free":/ {
			size = free = $0
			sub(/.*"size":/, "", size); sub(/.*"free":/, "", free)
			n++; if (size + 0 != free + 0) { print; bad = 1 }
		} END { exit bad || !n }' devices.json
}
descriptors() { find "/proc/$1/fd" -type l | wc -l; }
# A daemon that has kept a plan, and watches the folder from then on.
has_kept_one() {
	forget_plans >/dev/null && one_inference 0 0 && nothing_wrong && nothing_runs
}
daemon_as_new() {
	has_kept_one || return 1
	old=$(descriptors "$DAEMON")
	stop_daemon && daemon && has_kept_one || return 1
	new=$(descriptors "$DAEMON")
	echo "descriptors: $old, of a new one $new"
	[ "$old" = "$new" ]
}
# Each file is a plan or nothing; the bytes are not more than the folder may have.
plans_whole() {
	npumemctl cache --folder keep list -j >list.json || { cat list.json; return 1; }
	echo "plans kept: $(grep -o '"key"' list.json | wc -l)"
	[ -z "$(find keep -type f ! -name '*.plan' ! -name 'lock*')" ] || { ls -la keep; return 1; }
}
# Beside twenty clients a search may never have had a processor, and plans that are proved at once are
# searched for no more. So in the end one is asked for that is not proved in a minute, when the
# daemon has forgotten, by reading its configuration, what it could not keep on a full disk.
searches_end() {
	daemon_told && forget_plans >/dev/null && one_inference 0 "$SEARCHED" && nothing_wrong &&
		nothing_runs || return 1
	awk '/^npumemd_searches_ended_total/ { n += $2 } END { exit !n }' idle.out ||
		{ npumemctl cache --folder keep list; tail -n 20 daemon.log; return 1; }
}
# Searches that wait are made now, one after the other, at five seconds each and some more.
nothing_runs() {
	until_true 600 workers_gone || { pidof npumemd; cat idle.out; return 1; }
}
workers_gone() {
	scrape >idle.out && grep -qx 'npumemd_searches_waiting 0' idle.out &&
		[ "$(pidof npumemd | wc -w)" = 1 ]
}

# ---------------------------------------------------------------------------- go

set_up() {
	mkdir -p keep $CGROUP
	[ -e $CGROUP/cgroup.controllers ] || mount -t cgroup2 none $CGROUP || return 1
	echo +memory >$CGROUP/cgroup.subtree_control && mkdir -p $CGROUP/soak || return 1
	mount -t tmpfs -o size=1m none keep || return 1
	configured 0
	: >unanswered
	: >storms && storms >calm
	daemon && engine
}
# A first inference of each kind: what is allocated once is there then.
warm() {
	kinds=0
	while [ $kinds -lt "$KINDS" ]; do
		one_inference 0 $kinds || return 1
		kinds=$((kinds + 1))
	done
	one_scrape
	nothing_wrong && [ ! -e refused ] && rm right calm
}
begin() {
	stop_engine && stop_daemon || return 1
	BEFORE=$(memory_free)
	daemon && engine || return 1
	storms >calm
	be_scraper &
	PIDS=$!
	client=1
	while [ $client -le $CLIENTS ]; do
		be_client $client &
		PIDS="$PIDS $!"
		client=$((client + 1))
	done
}

check 'daemon and engine are there' set_up
check 'an inference of each kind' warm
# Without that all else says nothing.
[ "$FAILED" = 0 ] || finish
check 'twenty clients begin' begin
shown 'disturbances, and calms' disturbances
shown 'each of them came' each_came
check 'all clients end by themselves' all_gone
shown 'all of them were served' all_served
shown 'what was refused' reasons
check 'no inference was wrong, or refused in a calm, and no metrics' nothing_wrong
shown 'latencies' latencies
shown 'kept plans are whole' plans_whole
check 'searches end, and no worker is left' searches_end
shown 'metrics were told, and plans searched for' metrics_told
shown 'the daemon does not grow' daemon_stays_small
check 'nobody holds the carveout' nobody_holds
shown 'the daemon has no more files open than a new one' daemon_as_new
check 'the engine goes' stop_engine
check 'the daemon goes' stop_daemon
shown 'no memory is lost' no_memory_lost
umount keep
finish
