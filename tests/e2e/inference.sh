#!/bin/sh
# SPDX-License-Identifier: MIT
#
# inference.sh - real models in TensorFlow Lite, with memory that npumemd plans and the driver
# enforces: all of /opt/npumem/inference. `make inference` and the lane of that name run it. Then
# faults are planted: beside what npumem does is told what merely reused memory makes of them.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2086
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

INFERENCE=npumem-tflite PLANNED='-o fallback=error' RUNS=5 SEED=1
# shellcheck source=tests/lib/inference.sh
. /opt/npumem/e2e/inference_table.sh

PLANTED_MODEL=/opt/npumem/inference/mlptiny_kws_ref_model.tflite

# planted KIND: by the borrowing delegate, which the driver refuses.
planted() {
	/opt/npumem/e2e/npumem_planted "$1" libtensorflowlite_c.so "$PLANTED_MODEL" \
		fallback=error 2>planted.err || { cat planted.err; return 1; }
}
# overrun: an engine that writes too much, into tiles that are copies.
overrun() {
	/opt/npumem/e2e/npumem_overrun plain "$PLANTED_MODEL" 64 || return 1
	/opt/npumem/e2e/npumem_overrun engine >engine.out 2>engine.log &
	ENGINE=$!
	until_true 300 attached || { cat engine.log; return 1; }
	npumemctl run -j --engine npumem-engine --seed "$SEED" "$PLANTED_MODEL" >run.json || cat run.json
	stop_engine TERM 2>/dev/null || return 1
	[ "$(field equal run.json)" = true ] || { cat run.json engine.out; return 1; }
	echo "the same in a process that gets copies of tiles: $(grep -c spoiled engine.out) steps," \
		"$(awk '{ n += $3 } END { print n }' engine.out) bytes written that are not theirs;" \
		"nothing of it arrives, and all outputs are right"
}
planted_faults() {
	[ -e "$PLANTED_MODEL" ] || {
		skipped 'planted faults' "${PLANTED_MODEL##*/} is not among the models"
		return
	}
	shown 'a planner overlaps two tensors: refused' planted overlap
	shown 'operators out of order: refused' planted order
	shown 'an engine writes too much: nothing of it arrives' overrun
}

check 'npumemd starts' start_daemon
infer_folder driver /opt/npumem/inference
check 'some model was run' inferred 1
planted_faults
finish
