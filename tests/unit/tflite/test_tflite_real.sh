#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_tflite_real.sh - models run by a real TensorFlow Lite have the same outputs with the
# delegate and without.
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
	count=$((count + 1))
done
check "some models ran" [ $count -ge 5 ]
check_plan
