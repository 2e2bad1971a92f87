#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_tflite_attack.sh - a real TensorFlow Lite with the delegate in hostile and careless hands:
# damaged models, random calls, many interpreters, threads, and for a long time.
#
# usage: test_tflite_attack.sh SOURCE_FOLDER DELEGATE REAL_TFLITE REAL_MUTANTS REAL_CALLS
#        REAL_LASTING REAL_MEMORY
#
# TAP. It takes some seconds; with NPUMEM_ATTACK=long some minutes, and with NPUMEM_ATTACK=threads
# more of threads, as scripts/attack wants it. NPUMEM_SEED is the first of all seeds (1). Models are
# those of $NPUMEM_SHARED/models/tflite that the runtime itself runs, and files of the folder
# NPUMEM_MODELS, if that is set.

top=$(realpath "$1") delegate=$(realpath "$2") real=$(realpath "$3") mutants=$(realpath "$4")
calls=$(realpath "$5") lasting=$(realpath "$6") memory=$(realpath "$7")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

skip() {
	skipped "attacks on a real TensorFlow Lite" "$1"
	check_plan
	exit
}
folder=${NPUMEM_SHARED:-$top/../shared}/models/tflite
rc=0
runtime=$("$top/scripts/fetch-tflite") || rc=$?
[ $rc != 4 ] || skip "there is none, see scripts/fetch-tflite"
check "TensorFlow Lite is fetched" [ $rc = 0 ]
[ -d "$folder" ] || skip "no models: NPUMEM_SHARED is not here"

case ${NPUMEM_ATTACK-} in
long) truncated=200 mutated=2000 sequences=1000 inferences=10000 rounds=1000 many=1000 threads=60
	stride=1 ;;
threads) truncated=5 mutated=5 sequences=5 inferences=100 rounds=20 many=20 threads=60
	stride=499 ;;
*) truncated=20 mutated=40 sequences=20 inferences=2000 rounds=20 many=20 threads=4
	stride=97 ;;
esac
seed=${NPUMEM_SEED:-1}
# The runtime leaks by itself where it refuses a model.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"

runs() { "$real" "$runtime" - 2 "$1"; }
models=()
for model in "$folder"/*.tflite ${NPUMEM_MODELS:+"$NPUMEM_MODELS"/*.tflite}; do
	! runs "$model" >/dev/null 2>&1 || models+=("$model")
done
check "some models run" [ ${#models[@]} -ge 5 ]
small=$folder/hello_world_int8.tflite
alike=()
for name in hello_world_int8 micro_speech_quantized mlptiny_kws_ref_model mlptiny_vww_96_int8; do
	[ ! -e "$folder/$name.tflite" ] || alike+=("$folder/$name.tflite")
done
options=()

# attacked PROGRAM ARGUMENT...: all models; the line of figures is a comment
attacked() { "$1" "$runtime" "$delegate" "${@:2}" "${models[@]}" -- device=none 2>/dev/null; }
# lasts WHAT COUNT MODEL...
lasts() {
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0 \
		"$lasting" "$runtime" "$delegate" "$@" -- device=none "${options[@]}" 2>&1
}
# without STRIDE OPTION...: memory, for each STRIDE-th allocation
without() {
	"$memory" "$runtime" "$delegate" "$1" "$small" -- device=none "${@:2}" 2>&1
}
# on_engine COMMAND...: npumem's engine computes, with plans of a folder that all share; the models
# are those of which the runtime's kernels make the same
on_engine() {
	local options=(engine=engine bands=4 cache="$tmp")
	"$@"
}
# attack NAME COMMAND...
attack() {
	check "$@"
	tail -n 1 "$CHECK_OUT" | sed 's/^/# /'
}

attack "$truncated truncated models" attacked "$mutants" truncated "$seed" "$truncated"
attack "$mutated damaged models" attacked "$mutants" mutated "$seed" "$mutated"
attack "$sequences sequences of random calls" attacked "$calls" "$seed" "$sequences"
attack "$inferences inferences leave nothing over" lasts inferences "$inferences" "$small"
attack "$rounds interpreters, one after the other, leave nothing over" lasts rounds "$rounds" "$small"
check "$many interpreters at once" lasts many "$many" "$small"
check "two threads, $threads interpreters each" lasts threads "$threads" "${models[@]}"
check "two threads, $threads interpreters each, on the engine, with plans in a folder" \
	on_engine lasts threads "$threads" "${alike[@]}"
# A sanitizer does not take that its memory is another's.
if grep -qE '__(asan|tsan)_init' "$delegate"; then
	skipped "no memory" "a sanitizer has memory of its own; the lane inference does without"
else
	attack "no memory" without "$stride"
	attack "no memory, on the engine" without "$stride" engine=engine bands=2 cache="$tmp"
fi
check "a child goes on, and so does its parent" lasts fork 3 "$small"
lstm=$folder/trained_lstm_int8.tflite
if [ -e "$lstm" ]; then
	check "variables are reset" lasts reset 12 "$lstm"
	check "variables are reset, on the engine" on_engine lasts reset 12 "$lstm"
else
	skipped "variables are reset" "${lstm##*/} is not among the models"
fi
check "the delegate is destroyed first" lasts first 3 "$small"
check_plan
