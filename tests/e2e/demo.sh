#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The demo: one whole trip, told as it goes, every claim of it a test.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SEED=20261124

say() { echo "# $*"; }
title() {
	echo '#'
	echo "# === $* ==="
}
mib() { awk "BEGIN { printf \"%.2f MiB\", $1 / 1048576 }"; }

# run_model NAME BANDS FILE: the daemon plans, the driver verifies, jobs run.
run_model() {
	npumemctl run -j --bands "$2" "$3" >run.json || return 1
	equal run.json || return 1
	[ "$(field plan_from run.json)" = daemon ] || return 1
	arena=$(field arena run.json) sum=$(field tensor_bytes run.json)
	bound=$(field lower_bound run.json)
	echo "planned by npumemd ($(field planner run.json)), verified by the driver in" \
		"$(($(field verify_ns run.json) / 1000)) us"
	echo "$(field steps run.json) jobs run, $(field tile_states run.json) cells with a state;" \
		"outputs equal to a reference without memory reuse"
	echo "arena $arena bytes ($(mib "$arena")) of $sum ($(mib "$sum")) that its tensors have;" \
		"lower bound $bound"
	[ "$arena" -ge "$bound" ] && [ "$arena" -lt "$sum" ]
}

trip() {
	shown "$1, whole operators: outputs equal" run_model "$1" 1 "$2"
	shown "$1, in 8 row bands: outputs equal" run_model "$1" 8 "$2"
}

# run_plan PLANNER GRAPH OPTION...: planned offline, verified by the driver, jobs run.
run_plan() {
	planner=$1 graph=$2
	shift 2
	npumemctl plan --planner "$planner" "$@" "$graph" -o plan.json >plan.out || return 1
	npumemctl run -j --plan plan.json "$graph" >run.json && equal run.json || return 1
	arena=$(field arena run.json) sum=$(field tensor_bytes run.json)
	echo "$(field steps run.json) steps, verified in $(($(field verify_ns run.json) / 1000)) us;" \
		"arena $arena bytes ($(mib "$arena")) of $sum ($(mib "$sum")); outputs equal"
	[ "$(field planner run.json)" = "$planner" ]
}

spilled() {
	run_plan cosma "$@" || return 1
	echo "moved to host memory and back, counted by the driver as planned:" \
		"$(counted load run.json) bytes by loads, $(counted spill run.json) by spills," \
		"$(counted store run.json) by stores, $(counted fill run.json) by fills"
	[ "$(counted load run.json)" -gt 0 ]
}

survives() {
	rm -f plan.json
	npumemctl run -j --repeat 4 -o plan.json "$MOBILENET" >run.json &
	run=$!
	until_true 300 test -s plan.json || return 1
	kill_daemon || return 1
	kill -0 $run || { echo "it had ended before the daemon did"; return 1; }
	echo "npumemd killed with SIGKILL; the driver knows of no daemon"
	wait $run || return 1
	equal run.json || return 1
	echo "$(field inferences run.json) inferences finished all the same, all outputs equal"
}

# computed OPTION...: npumem-engine computes the model for real; the digest is that of whole operators.
computed() {
	computes "$@" || return 1
	sha256=$(field sha256 run.json)
	echo "$(field jobs run.json) jobs in $(field run_seconds run.json) s, arena $(field arena run.json) bytes;" \
		"outputs sha256 $(echo "$sha256" | cut -c1-16)"
	[ "${WHOLE:=$sha256}" = "$sha256" ]
}
computed_by() {
	npumemctl plan --params "$@" "$COMPUTED" -o plan.json >/dev/null &&
		computed "$COMPUTED" --plan plan.json
}
# The engine is killed in the midst of a run, which ends with it: by a job that it had, or by the
# next one, for which there is no engine.  The next run is as it was.
engine_dies() {
	: >engine.out
	npumemctl run --engine npumem-engine --plan plan.json --repeat 1000 "$COMPUTED" >lost.out 2>&1 &
	run=$!
	until_true 300 test -s engine.out || return 1
	stop_engine KILL || return 1
	wait $run && { echo "the run has not noticed"; return 1; }
	cat lost.out
	grep -qE 'is lost|no process is attached' lost.out || return 1
	start_engine && computed "$COMPUTED" --plan plan.json
}

title "the device"
say "Linux $(uname -r) on $(uname -m), npumem.ko loaded"
shown "npumem has a device" npumemctl devices

title "the daemon"
check "npumemd starts and registers with the driver" start_daemon

title "a model, planned by the daemon, verified by the driver, run job by job"
trip MobileNetV2 "$MOBILENET"
for model in "$MODELS"/*.tflite; do
	[ -e "$model" ] || { say "(no TFLite model here: that part is left out)"; continue; }
	trip "$(basename "$model" .tflite) (TFLite)" "$model"
done

title "rows of consecutive layers, one after the other"
shown "MobileNetV2, tile-scheduled: outputs equal" run_plan tile-scheduled "$MOBILENET" --rows 1

title "a model that is computed for real, by an engine in a process, tile by tile"
COMPUTED=$MODELS/face_detection_short_range.tflite
[ -e "$COMPUTED" ] || {
	say "(face detection is not here: a small model made on the spot)"
	COMPUTED=own.tflite
	/opt/npumem/e2e/npumem_make_model "$COMPUTED"
}
name=$(basename "$COMPUTED" .tflite)
check "npumem-engine attaches to a slot of the device" start_engine
shown "$name, whole operators, planned by npumemd: computed" computed "$COMPUTED"
shown "$name, tile-scheduled: the same bytes" computed_by --planner tile-scheduled
shown "$name, the least arena, to host memory and back: the same bytes" \
	computed_by --planner cosma --budget MR
shown "the engine is killed: its run ends, the next engine computes the same bytes" engine_dies
check "npumem-engine ends" stop_engine
check "its tile-scheduled plan, for attacks" \
	npumemctl plan --params --planner tile-scheduled "$COMPUTED" -o plan.json \
	--blob plan.blob --graph-blob graph.blob
shown "a tile of it is read when its bytes have been given away: refused" \
	"$ATTACK" retired graph.blob plan.blob
shown "a tile of it is computed before what it reads: refused" "$ATTACK" order graph.blob plan.blob

title "a face in a picture, by TensorFlow Lite in memory that is planned and enforced"
if [ -d /opt/npumem/pictures ] && [ -e "$MODELS/face_detection_short_range.tflite" ]; then
	shown "an astronaut's portrait: a face is found" face_in /opt/npumem/pictures/face.png
	shown "a cup of coffee: none is" no_face_in /opt/npumem/pictures/none.png
else
	say "(no TensorFlow Lite, model or picture here: that part is left out)"
fi

title "a word in a sound, by the same"
INFERENCE=npumem-tflite PLANNED='-o fallback=error' RUNS=1 NPUMEM_WORD=/opt/npumem/e2e/npumem_word
# shellcheck source=tests/lib/inference.sh
. /opt/npumem/e2e/inference_table.sh
KEYWORDS=/opt/npumem/keywords/mlptiny_kws_ref_model.tflite
if [ -e "$KEYWORDS" ] && [ -d /opt/npumem/sounds ]; then
	shown 'a voice says "front left": "left" is heard' \
		heard left driver "$KEYWORDS" /opt/npumem/sounds/left.wav
	shown 'it says "front right": "right" is' heard right driver "$KEYWORDS" /opt/npumem/sounds/right.wav
else
	say "(no TensorFlow Lite, model or sound here: that part is left out)"
fi

title "less arena than the tensors need: to host memory and back"
shown "DenseNet-121, the least arena: outputs and traffic equal" \
	spilled "$GRAPHS/densenet121.fused.json" --budget MR

title "attack 1: a plan in which two tensors that are live together overlap"
check "npumemctl plans MobileNetV2 offline" offline_blobs "$MOBILENET" 1
shown "refused by the verifier: V4" "$ATTACK" overlap graph.blob plan.blob
title "attack 2: a job that reads a tile whose bytes have been given away"
check "and again in 8 bands" offline_blobs "$MOBILENET" 8
shown "refused at submission: the tile is RETIRED" "$ATTACK" retired graph.blob plan.blob
title "attack 3: jobs out of order"
shown "refused at submission: what it reads is not written" "$ATTACK" order graph.blob plan.blob
shown "refused at submission: what it overwrites is still needed" \
	"$ATTACK" overwrite graph.blob plan.blob

title "the daemon dies"
shown "a verified plan goes on running" survives
finish
