#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_inference.sh - the lane "inference" and `make inference` fail when they should, and say so
# where they cannot run, with a runtime and a delegate that compute nothing.
#
# usage: test_inference.sh SOURCE_FOLDER NPUMEM_TFLITE RUNTIME DELEGATE
#
# TAP.

top=$(realpath "$1") program=$(realpath "$2") runtime=$(realpath "$3") delegate=$(realpath "$4")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

mkdir models none
echo 'fake 3 0 0 ok 1 4 4 3' >models/good.tflite
echo 'fake 3 0 0 create 1 4 4 3' >models/refused.tflite

# table BY OPTIONS: what infer_folder prints, in table.out
table() {
	(
		N=0 FAILED=0 CHECK_OUT=table.check
		# shellcheck disable=SC2034 # inference.sh uses them
		INFERENCE="$program --runtime $runtime" PLANNED="-d $delegate $2" RUNS=3 SEED=5
		# shellcheck source=tests/lib/inference.sh
		. "$top/tests/lib/inference.sh"
		infer_folder "$1" models
		check 'one was run' inferred 1
		check 'two were run' inferred 2
		check 'none is larger' none_larger
	) >table.out 2>&1
	cat table.out
}
has() { # LINE...: lines of table.out, as they are
	local line
	for line in "$@"; do
		grep -qxF -- "$line" table.out || { echo "no line: $line"; return 1; }
	done
}

all_well() {
	table process ''
	has 'ok 1 - good.tflite: inferences equal plain ones, byte for byte' \
		'ok 2 - refused.tflite # SKIP plain TensorFlow Lite does not run it' \
		'ok 3 - one was run' 'not ok 4 - two were run' '# inferences of seeds 5 to 7 each; bytes, and median milliseconds' &&
		grep -qE '^# good.tflite +3/4 +5000 +96 +4000 +80 +true +[0-9.]+ +[0-9.]+$' table.out
}
check 'equal outputs, and a model that does not run' all_well
# The fake delegate says 5000 bytes, and the fake runtime's tensors take 96.
larger() {
	table process ''
	has 'not ok 5 - none is larger' '# larger: good.tflite'
}
check 'an arena that is larger than the runtime has it is seen' larger
wrong() {
	table process '-o spoil=2'
	has 'not ok 1 - good.tflite: inferences equal plain ones, byte for byte' || return 1
	grep -q '"inference 0, seed 5: output 0 .* differs: byte 1 of 48 is' table.out
}
check 'a wrong byte is seen' wrong
other() {
	table driver ''
	has 'not ok 1 - good.tflite: inferences equal plain ones, byte for byte'
}
check 'a plan that another has enforced is seen' other
no_delegate() {
	table process '-o refuse=tired'
	has 'not ok 1 - good.tflite: inferences equal plain ones, byte for byte' \
		"# npumem-tflite: $delegate: the delegate does not begin: tired"
}
check 'a delegate that does not begin is seen' no_delegate

# A machine without npm, and without what it got earlier.
mkdir bin
for tool in awk bash cat cp dirname dpkg env find flock git id make mkdir mktemp mv nproc realpath rm sed \
	sha256sum sort; do
	ln -s "$(command -v $tool)" "bin/$tool"
done
without_npm() {
	env PATH="$tmp/bin" NPUMEM_CACHE="$tmp/cache" NPUMEM_BUILD="$tmp/build" \
		NPUMEM_SHARED="$tmp/shared" "$@"
}
mkdir -p shared/models/tflite
cp models/good.tflite shared/models/tflite/
no_npm='fetch-tflite: SKIP: no npm, so no TensorFlow Lite (apt-get install npm)'
check 'make inference without npm' gives 4 $'1 skipped\n0 passed, 0 failed' "$no_npm" \
	without_npm "$top/scripts/inference"
check 'the lane without npm' gives 0 \
	$'ok 1 - inferences of real models # SKIP TensorFlow Lite cannot be fetched: see above\n1..1' \
	"$no_npm" without_npm "$top/scripts/lanes/inference"
check 'the lane without models' gives 0 \
	$'ok 1 - inferences of real models # SKIP no models: NPUMEM_SHARED is not here\n1..1' '' \
	without_npm env NPUMEM_SHARED="$tmp/none" "$top/scripts/lanes/inference"
check 'make inference of a folder without models' gives 2 '' \
	"inference: error: no .tflite file in $tmp/none: make inference MODELS=DIR" \
	without_npm "$top/scripts/inference" "$tmp/none"
for seeds in '' 0 x; do
	check "make inference with \"$seeds\" seeds" gives 2 '' \
		"inference: error: --seeds '$seeds' is no number from 1 on" \
		without_npm "$top/scripts/inference" --seeds "$seeds"
done
check_plan
