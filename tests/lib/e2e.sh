# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# e2e.sh - what the end-to-end tests share: TAP, the daemon, numbers out of
# npumemctl's JSON. Source it; end with "finish".
GRAPHS=${GRAPHS:-/opt/npumem/graphs}
MODELS=${MODELS:-/opt/npumem/models}
MOBILENET=$GRAPHS/mobilenet_v2.fused.json
ATTACK=${ATTACK:-/opt/npumem/e2e/npumem_attack}
: "$MODELS" "$MOBILENET" "$ATTACK"

# shellcheck source=tests/lib/check.sh
. /opt/npumem/e2e/check.sh

# shown NAME COMMAND...: the same, and what it says is part of the story.
shown() {
	check "$@"
	sed 's/^/#     /' check.out
}

finish() {
	stop_daemon
	check_plan
	exit
}

# field NAME FILE: value of the first key of that name, which is the outermost
# object's where several have it; the JSON is compact.
field() {
	grep -o "\"$1\": *\"\{0,1\}[^,\"}]*" "$2" | head -n 1 | sed 's/^[^:]*: *"\{0,1\}//'
}

# counted KIND FILE: bytes of transfers of that kind that the driver has counted.
counted() {
	grep -o '"moved": *{[^}]*}' "$2" >moved.json
	field "$1" moved.json
}

# fails CODE WORDS COMMAND...: it exits with that code and says these words.
fails() {
	code=$1 words=$2
	shift 2
	"$@" >fails.out 2>&1
	got=$?
	cat fails.out
	[ $got = "$code" ] || { echo "exit $got, not $code"; return 1; }
	grep -qF -- "$words" fails.out || { echo "did not say: $words"; return 1; }
}

has_daemon() {
	npumemctl devices -j >devices.json && [ "$(field daemon devices.json)" = true ]
}

# uptime_ms: the clock that nobody sets.
uptime_ms() {
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}0"
}
# until_true SECONDS COMMAND...: ask until it is so.
until_true() {
	end=$(($(uptime_ms) + $1 * 1000))
	shift
	until "$@"; do
		[ "$(uptime_ms)" -lt $end ] || return 1
		usleep 20000
	done
}

DAEMON=
# start_daemon [OPTION...]: npumemd, registered; its log is in daemon.log.
start_daemon() {
	npumemd --foreground "$@" >daemon.log 2>&1 &
	DAEMON=$!
	until_true 300 has_daemon || { cat daemon.log; return 1; }
}

# stop_daemon: SIGTERM; the daemon's exit code.
stop_daemon() {
	[ -n "$DAEMON" ] || return 0
	kill -TERM "$DAEMON" 2>/dev/null
	wait "$DAEMON"
	rc=$?
	DAEMON=
	return $rc
}

kill_daemon() {
	kill -KILL "$DAEMON" || return 1
	wait "$DAEMON"
	DAEMON=
	! has_daemon
}

# equal FILE: the JSON of npumemctl run says that all outputs were as computed.
equal() {
	[ "$(field equal "$1")" = true ] || { cat "$1"; return 1; }
}

ENGINE=
attached() {
	npumemctl devices -j >devices.json && grep -q '"name": *"npumem-engine"' devices.json
}
# start_engine [OPTION...]: npumem-engine, attached; what it computes is in engine.out.
start_engine() {
	npumem-engine --trace "$@" >engine.out 2>engine.log &
	ENGINE=$!
	until_true 300 attached || { cat engine.log; return 1; }
}
# stop_engine [SIGNAL]: it is attached no more.
stop_engine() {
	[ -n "$ENGINE" ] || return 0
	kill -"${1:-TERM}" "$ENGINE"
	wait "$ENGINE"
	ENGINE=
	! attached
}

# start_overrun BYTES: in its place one that writes so many bytes behind each tile, and says so in
# engine.out.
start_overrun() {
	/opt/npumem/e2e/npumem_overrun engine "$1" >engine.out 2>engine.log &
	ENGINE=$!
	until_true 300 attached || { cat engine.log; return 1; }
}
# names_overrun FILE: the refusal of that says rule, step, tensor and bytes, and cites both by name.
names_overrun() {
	of='step [0-9]+, tile [0-9]+, tensor [0-9]+, bytes \[[0-9]+, [0-9]+\) of the copy of the tile'
	grep -Eq "engine wrote beside a tile.*, $of.*; step [0-9]+ '.+', tensor [0-9]+ '.+'" "$1" ||
		{ cat "$1"; return 1; }
}

# monitor N OPTION...: what a monitor prints until N events have come, in events.txt.
MONITOR=
monitor() {
	npumemctl monitor -n "$@" >events.txt 2>monitor.err &
	MONITOR=$!
	until_true 300 monitor_listens
}
# It has joined the driver's group: the kernel lists sockets with their groups, of which 16 tells of
# drivers that come and go.
monitor_listens() {
	awk '$2 == 16 && $4 != "00000000" && $4 != "00008000" { found = 1 } END { exit !found }' \
		/proc/net/netlink
}
# monitor_ends: when all have come.
monitor_ends() {
	until_true 60 monitor_ended || { kill "$MONITOR"; cat events.txt monitor.err; return 1; }
	wait "$MONITOR"
}
monitor_ended() { ! kill -0 "$MONITOR" 2>/dev/null; }

# computes MODEL OPTION...: by npumem-engine; in run.json, equal to memory that is used once.
computes() {
	model=$1
	shift
	npumemctl run -j --engine npumem-engine --seed "$SEED" --timeout 1000 "$@" "$model" >run.json &&
		equal run.json && grep -q '"sha256"' run.json
}

# face_in PICTURE: the face detector in TensorFlow Lite, whose activations lie where npumemd has
# planned and the driver lets them; the outputs, equal to the plain runtime's, say where a face is.
face_in() {
	npumem-tflite -j -c -n 1 -o fallback=error -i "$1" --output face.raw \
		"$MODELS/face_detection_short_range.tflite" >face.json || return 1
	equal face.json || return 1
	[ "$(field enforced_by face.json)" = driver ] || return 1
	echo "$(field claimed face.json) of $(field operators face.json) operators in an arena of" \
		"$(field arena_bytes face.json) bytes; outputs equal to the plain runtime's"
	/opt/npumem/e2e/npumem_face face.raw
}
no_face_in() {
	face_in "$1" >none.out
	cat none.out
	grep -q '^no face' none.out
}

# whole_trip [OPTION...]: MobileNetV2, planned by the daemon, run, compared.
whole_trip() {
	npumemctl run -j --timeout 1000 "$@" "$MOBILENET" >run.json || return 1
	equal run.json || return 1
	[ "$(field plan_from run.json)" = daemon ] || return 1
	[ "$(field arena run.json)" -ge "$(field lower_bound run.json)" ] || return 1
	[ "$(field arena run.json)" -lt "$(field tensor_bytes run.json)" ]
}

# offline_blobs GRAPH BANDS: planned here: plan.json, plan.blob and graph.blob.
offline_blobs() {
	npumemctl plan --bands "$2" "$1" -o plan.json --blob plan.blob --graph-blob graph.blob
}

# offline_trip GRAPH BANDS: planned here, verified here, loaded, run, compared.
offline_trip() {
	offline_blobs "$1" "$2" &&
		npumemctl verify "$1" plan.json && npumemctl run -j --plan plan.json "$1" >run.json &&
		equal run.json && [ "$(field plan_from run.json)" = file ]
}

# offline_trips BANDS: all graphs that fit into the guest's carveout.
offline_trips() {
	for graph in "$GRAPHS"/*.json; do
		case $graph in
		*/fsrcnn_*) continue ;;
		esac
		check "$(basename "$graph" .json): planned, verified, run, equal" \
			offline_trip "$graph" "$1"
	done
}
