#!/bin/sh
# SPDX-License-Identifier: MIT
#
# storm.sh - TensorFlow Lite with the delegate while daemon, engine, device, carveout and cached
# plans are not what they should be. `make inference` and the lane of that name run it after
# inference.sh: each storm lasts until it has been felt, and for some more blows.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2086,SC2015,SC2119
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

MODEL=/opt/npumem/inference/mlptiny_kws_ref_model.tflite
BLOWS=4
[ ! -e /opt/npumem/inference/engine ] || BLOWS=10
SEED=$$
echo "# seed $SEED"
# random LIMIT: from 0 on
random() {
	SEED=$(((SEED * 1103515245 + 12345) & 0x7fffffff))
	DRAWN=$(((SEED >> 12) % $1))
}
# storm OPTION...: begins; its output is in storm.out
storm() {
	rm -f calm right refused storm.out
	/opt/npumem/e2e/npumem_storm libtensorflowlite_c.so libnpumem-tflite.so "$MODEL" "$@" \
		>storm.out 2>storm.err &
	STORM=$!
	until_true 60 [ -e right ]
}
# while_raging FELT BLOW: some blows, and more until the command FELT says that it was felt
while_raging() {
	blows=0
	end_of_storm=$(($(date +%s) + 120))
	until [ $blows -ge $BLOWS ] && $1; do
		random 200000
		usleep $((DRAWN + 1000))
		"$2" || return 1
		blows=$((blows + 1))
		kill -0 $STORM 2>/dev/null || return 1
		[ "$(date +%s)" -lt $end_of_storm ] || return 1
	done
	echo "$blows blows"
}
felt() { [ -e refused ]; }
# calm WORDS: it ends well; something was refused meanwhile for this reason.
calm() {
	touch calm
	wait $STORM
	calm_rc=$?
	cat storm.out
	[ $calm_rc = 0 ] || { echo "exit $calm_rc"; tail -n 20 storm.err; }
	[ $calm_rc = 0 ] && grep -qE "$1" storm.out
}

engine_dies() {
	random 3
	if [ $DRAWN = 0 ]; then
		kill -STOP $ENGINE
		random 1500000
		usleep $DRAWN
	fi
	stop_engine KILL 2>/dev/null
	random 200000
	usleep $DRAWN
	start_engine
}
engine_storm() {
	start_engine && storm engine=engine bands=4 "$@" && while_raging felt engine_dies
	calm 'no process is attached|the run is lost' && stop_engine
}
daemon_dies() {
	kill_daemon 2>/dev/null
	random 200000
	usleep $DRAWN
	start_daemon
}
daemon_missed() {
	storm fallback=error && while_raging felt daemon_dies
	calm 'no planning daemon|no plan was made'
}
planned_here() { grep -q 'planned in this process, enforced by the driver' storm.err; }
daemon_replaced() {
	storm fallback=process && while_raging planned_here daemon_dies
	planned_here && calm ''
}

# What another client holds, on and off.
carveout_full() {
	/opt/npumem/e2e/npumem_hold >hold.out 2>&1 &
	hold=$!
	until_true 60 grep -q held hold.out
	random 500000
	usleep $DRAWN
	kill $hold
	wait $hold 2>/dev/null
	true
}
carveout_storm() {
	storm fallback=error && while_raging felt carveout_full
	calm 'No space left'
}

# Two programs have a folder, in which somebody spoils what is there.
spoil() {
	for file in cache/*.plan; do
		[ -e "$file" ] || [ -L "$file" ] || continue
		if [ -f "$file" ] && [ ! -L "$file" ]; then
			head -c 100 "$file" >half
		fi
		# What is there may be a pipe, or a folder: nothing is written to it.
		rm -rf "$file"
		random 8
		case $DRAWN in
		0) touch "$file" ;;
		1) cp half "$file" ;;
		2) cp other.plan "$file" ;;
		3) ln -s /dev/zero "$file" ;;
		4) ln -s "${file##*/}" "$file" ;;
		5) mkfifo "$file" ;;
		6) mkdir "$file" ;;
		esac
	done 2>/dev/null
	[ -d cache ]
}
seen_spoilt() { grep -q 'the cached plan is no good' storm.err; }
cache_storm() {
	rm -rf cache && mkdir cache && touch half
	npumem-tflite -o fallback=error -o cache=cache -n 1 \
		/opt/npumem/inference/hello_world_int8.tflite >other.out || return 1
	mv cache/*.plan other.plan
	storm fallback=error cache=cache || return 1
	/opt/npumem/e2e/npumem_storm libtensorflowlite_c.so libnpumem-tflite.so "$MODEL" \
		fallback=error cache=cache >second.out 2>second.err &
	second=$!
	while_raging seen_spoilt spoil
	calm ', 0 wrong' || return 1
	wait $second
	second_rc=$?
	cat second.out
	grep -h 'npumem:.*plan' storm.err second.err | sed 's/[0-9a-f]\{64\}/DIGEST/' | sort | uniq -c
	# It was made anew, so nothing of this is in the way of an inference.
	[ $second_rc = 0 ] && ! felt && seen_spoilt
}

DRIVER=/sys/bus/platform/drivers/npumem-sim
# The memory of a device goes with it: programs go on, and are refused.
device_goes() {
	DEVICE=
	for link in "$DRIVER"/*; do
		[ ! -e "$link/of_node" ] || DEVICE=${link##*/}
	done
	[ -n "$DEVICE" ] || { ls "$DRIVER"; return 1; }
	storm fallback=error || return 1
	random 300000
	usleep $DRAWN
	echo "$DEVICE" >"$DRIVER"/unbind || return 1
	usleep 300000
	echo "$DEVICE" >"$DRIVER"/bind || return 1
	stop_daemon
	start_daemon || return 1
	touch calm
	wait $STORM
	gone=$?
	echo "exit $gone"
	cat storm.out
	[ $gone = 0 ] && felt || return 1
	storm fallback=error && calm ', 0 wrong'
}

check 'npumemd starts' start_daemon
if [ -e "$MODEL" ]; then
	shown 'npumem-engine dies in the middle of inferences' engine_storm fallback=error
	shown 'and is missing, so this process computes' engine_storm fallback=process
	shown 'npumemd dies: nothing but the driver and npumemd will do' daemon_missed
	shown 'npumemd dies: this process plans then' daemon_replaced
	shown 'the carveout is full from time to time' carveout_storm
	shown 'plans in a folder of two programs are spoilt' cache_storm
	shown 'the device goes, and comes back' device_goes
else
	skipped 'storms' "${MODEL##*/} is not among the models"
fi
finish
