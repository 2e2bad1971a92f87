#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_tflite_real.sh - models run by a real TensorFlow Lite have the same outputs with the
# delegate and without; computed by npumem's engine, those of the reference kernels.
#
# usage: test_tflite_real.sh SOURCE_FOLDER REAL_TFLITE DELEGATE
#
# TAP. Models are those of $NPUMEM_SHARED/models/tflite that the runtime itself runs.

top=$(realpath "$1") real=$(realpath "$2") delegate=$(realpath "$3")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

models=${NPUMEM_SHARED:-$top/../shared}/models/tflite
rc=0
runtime=$("$top/scripts/fetch-tflite") || rc=$?
# Any other failure is one: a library that is not the known one, say.
if [ $rc = 4 ]; then
	skipped "models of a real TensorFlow Lite" "there is none, see scripts/fetch-tflite"
	check_plan
	exit
fi
check "TensorFlow Lite is fetched" [ $rc = 0 ]
if [ ! -d "$models" ]; then
	skipped "models of a real TensorFlow Lite" "no models: NPUMEM_SHARED is not here"
	check_plan
	exit
fi
# The runtime leaks a little by itself where it refuses a model.
plain() { ASAN_OPTIONS=detect_leaks=0 "$real" "$runtime" - 3 "$1"; }
run() { "$real" "$runtime" "$delegate" "$@"; }
# same SEEDS MODEL WORDS OPTION...: outputs are the same, and the statistics have these words
same() {
	local words=$3 out
	out=$(run "$1" "$2" device=none "${@:4}" 2>&1) && [[ $out == *"$words"* ]] && return
	echo "$out"
	return 1
}

# digest_of NAME: of what TensorFlow Lite's reference kernels make of a model.
digest_of() {
	tr -d '\n\t ' <"$top/tests/unit/engine/test_engine_models.c" |
		grep -o "{\"$1\",\"[0-9a-f]*\"}" | grep -oE '[0-9a-f]{64}'
}
# engine MODEL OPTION...: npumem's engine computes all of it.
engine() {
	local out
	out=$(run 1 "$1" device=none engine=engine strict=1 "sha256=$(digest_of "$(basename "$1" .tflite)")" \
		"${@:2}" 2>&1) && [[ $out == *"by 2"* ]] && return
	echo "$out"
	return 1
}

count=0
for model in "$models"/*.tflite; do
	name=$(basename "$model" .tflite)
	if ! plain "$model" >/dev/null 2>&1; then
		skipped "$name" "TensorFlow Lite does not run it"
		continue
	fi
	check "$name" same 20 "$model" "by 2, cached 0"
	check "$name, inputs not kept" same 5 "$model" "by 2" inputs=reuse once=1
	check "$name, planner greedy" same 5 "$model" "by 2" planner=greedy
	check "$name, to the cache" same 2 "$model" "cached 0" cache="$tmp"
	check "$name, from the cache" same 2 "$model" "cached 1" cache="$tmp"
	case $name in
	hello_world* | *kws* | *vww* | *ad01*)
		check "$name, inputs resized" same 2 "$model" "by 2" batch=3 ;;
	esac
	check "$name, on the engine" engine "$model"
	check "$name, on the engine, in bands" engine "$model" bands=4
	check "$name, on the engine, tile-scheduled" engine "$model" planner=tile-scheduled
	check "$name, on the engine, from host memory" engine "$model" planner=cosma rows=2
	count=$((count + 1))
done
check "some models ran" [ $count -ge 5 ]
kws=$models/mlptiny_kws_ref_model.tflite
[ ! -e "$kws" ] || check "below the peak, the engine's tensors are spilled" \
	engine "$kws" planner=cosma bands=4 budget=8000
check_plan
