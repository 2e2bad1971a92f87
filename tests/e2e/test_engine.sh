#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Models computed for real, by npumem-engine: planned by the daemon or here, run through the driver
# whole, in bands, tile-scheduled and spilled. All outputs are equal, bit for bit, to those of the same
# commands on memory that is used once, and to TensorFlow Lite's reference kernels.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2120,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

TFLITE=${TFLITE:-/opt/npumem/tflite}
SEED=20261123

# Digests of tests/unit/engine/test_engine_models.c: TensorFlow Lite's reference kernels.
digest_of() {
	case $1 in
	hello_world_int8) echo 20c5c5815ad9db403928cf7adb6f689a890a196a4d15599ddfa12ad130ab3549 ;;
	micro_speech_quantized) echo 9d2e797cf3474ff84c28d4ebef56e0f768454d77ff46782363d90e26af548a61 ;;
	mlptiny_ad01_int8) echo 91d8d05c3f9a31069e5a01cdae78b40be21a916e9c3c1afe3d2fa4907c6a6f02 ;;
	mlptiny_kws_ref_model) echo ae4a9c64198d21447cf040ce1119648f73fabf4da8b1ef9fc059805039e0be9b ;;
	mlptiny_vww_96_int8) echo 31d55c113fccc1e8c014a6b4b711e9155c390457d4c030876cbb3828d95751f5 ;;
	esac
}
right() {
	[ "$(field sha256 run.json)" = "$(digest_of "$1")" ] || { field sha256 run.json; return 1; }
}

# by_daemon MODEL OPTION...: whole operators, planned by the daemon, two inferences.
by_daemon() {
	model=$1
	shift
	computes "$model" --repeat 2 "$@" && [ "$(field plan_from run.json)" = daemon ]
}
# offline MODEL OPTION...: planned here, in some other way.
offline() {
	model=$1
	shift
	npumemctl plan --params "$@" "$model" -o plan.json >/dev/null &&
		computes "$model" --plan plan.json --repeat 2
}
# given HOW NAME OPTION...: one of the given models, as TensorFlow Lite has it.
given() {
	how=$1 name=$2
	shift 2
	$how "$TFLITE/$name.tflite" "$@" && right "$name" &&
		echo "arena $(field arena run.json), $(field jobs run.json) jobs in" \
			"$(field run_seconds run.json) s"
}
# same WORDS...: the digest is that of the model made here, computed whole.
same() {
	"$@" && [ "$(field sha256 run.json)" = "$WHOLE" ]
}
# joined MODEL: its four operators in three steps.
joined() {
	same offline "$1" --concat join && [ "$(field steps run.json)" = 3 ]
}
joined_by_daemon() {
	same computes "$1" --concat join --repeat 2 && [ "$(field plan_from run.json)" = daemon ] &&
		[ "$(field steps run.json)" = 3 ]
}
traced() {
	grep -q '^step 0: conv float32 1x32x32x2 <- float32 1x64x64x3, float32 2x3x3x3, ' engine.out &&
		grep -qE ', [0-9]+ us$' engine.out && tail -n 2 engine.out
}
not_there() {
	fails 1 'none of its engines is "npumem-engine"' \
		npumemctl run --engine npumem-engine own.tflite
}
second() {
	fails 1 'an engine is attached to slot' npumem-engine
}
no_model() {
	fails 1 'graph JSON does not say what operators compute' npumemctl run --engine npumem-engine "$MOBILENET"
}
killed() {
	stop_engine KILL && start_engine && same computes own.tflite --plan plan.json --repeat 2
}
# One more byte behind each tile is enough.
too_much() {
	stop_engine KILL && start_overrun 1 && monitor 1 || return 1
	fails 1 'the run is lost, a job of it failed: Protocol error' \
		npumemctl run --engine npumem-engine --seed $SEED own.tflite || return 1
	names_overrun fails.out && stop_engine TERM 2>/dev/null && start_engine && monitor_ends ||
		return 1
	cat events.txt
	grep -qE "run [0-9]+: job failed: engine wrote beside a tile: step 0 '.+', tensor [0-9]+ '.+', position [0-9]+, bytes \[[0-9]+, [0-9]+\) of the copy of the tile" \
		events.txt
}
everything() {
	start_daemon && start_engine && /opt/npumem/e2e/npumem_make_model own.tflite &&
		/opt/npumem/e2e/npumem_make_model both.tflite concat
}

check "daemon and engine are there" everything
check "a model made here: planned by the daemon, computed, equal" by_daemon own.tflite
WHOLE=$(field sha256 run.json)
check "the same in 8 bands" same offline own.tflite --bands 8
check "the same in single rows, tile-scheduled" same offline own.tflite --planner tile-scheduled
check "the same with tensors in host memory" same offline own.tflite --planner cosma
shown "--trace says what was computed" traced
check "a second engine for everybody is refused" second
check "what is no model of TensorFlow Lite is refused" no_model
check "an engine that was killed is replaced by the next" killed
shown "an engine that writes a byte too much: refused, and the monitor says which" too_much
check "the same afterwards" same computes own.tflite --repeat 2
check "a model with a concat: planned by the daemon, computed, equal" by_daemon both.tflite
WHOLE=$(field sha256 run.json)
check "the same, the concat joined: one step less" joined both.tflite
check "the same, joined, in 8 bands" same offline both.tflite --concat join --bands 8
check "the same, joined, in single rows, tile-scheduled" \
	same offline both.tflite --concat join --planner tile-scheduled
check "the same, joined, with tensors in host memory" \
	same offline both.tflite --concat join --planner cosma
check "the same, joined, planned by the daemon" joined_by_daemon both.tflite
if [ -d "$TFLITE" ]; then
	for name in hello_world_int8 micro_speech_quantized mlptiny_ad01_int8 mlptiny_kws_ref_model; do
		shown "$name: planned by the daemon, as TensorFlow Lite's reference kernels" \
			given by_daemon $name
	done
	shown "mlptiny_kws_ref_model in 4 bands: the same" given offline mlptiny_kws_ref_model --bands 4
	shown "mlptiny_kws_ref_model tile-scheduled: the same" \
		given offline mlptiny_kws_ref_model --planner tile-scheduled
	shown "mlptiny_kws_ref_model spilled, M_R: the same" \
		given offline mlptiny_kws_ref_model --planner cosma --budget MR
	shown "mlptiny_vww_96_int8 tile-scheduled: the same" \
		given offline mlptiny_vww_96_int8 --planner tile-scheduled
else
	skipped "the given models: as TensorFlow Lite's reference kernels" \
		"they are not here (NPUMEM_SHARED when the guest was built)"
fi
check "the engine ends" stop_engine
check "without it the model is refused" not_there
finish
