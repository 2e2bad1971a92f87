#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A model with state, hundreds of inferences one after the other: npumem-engine computes it through
# the driver, in one arena, in which the state stays. Each output and each state is compared with
# the same commands on memory that is used once, and all outputs with what plain C makes of it; cut
# in whatever way. A plan that puts a tensor onto the state is refused.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2120,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SEED=20261126 STEPS=300
# Of STEPS inferences from SEED on: tests/unit/engine/test_engine_stream.c has made it in plain C.
DIGEST=5b5959e6559a7bc2b3bc285a5b855a92848ebae3615feeb93525e490f8e1252a

everything() {
	start_daemon && start_engine && /opt/npumem/e2e/npumem_make_model stream.tflite stream
}
# right: all inferences of run.json are there, and are those of plain C.
right() {
	if [ "$(field inferences run.json)" != $STEPS ] || [ "$(field sha256 run.json)" != $DIGEST ]; then
		field sha256 run.json
		return 1
	fi
	echo "$STEPS inferences, $(field jobs run.json) jobs in $(field run_seconds run.json) s, arena" \
		"$(field arena run.json) bytes, bound $(field lower_bound run.json)"
}
by_daemon() {
	computes stream.tflite --repeat $STEPS && [ "$(field plan_from run.json)" = daemon ] && right
}
offline() {
	npumemctl plan --params "$@" stream.tflite -o plan.json >/dev/null &&
		computes stream.tflite --plan plan.json --repeat $STEPS && right
}
# The test operator mixes what it reads into what it writes, state among it.
mixed() {
	npumemctl run -j --repeat $STEPS --seed $SEED stream.tflite >run.json && equal run.json
}
# onto_state: tensor 10 in the bytes of tensor 1, which is state.
onto_state() {
	npumemctl plan --params stream.tflite -o plan.json >/dev/null || return 1
	state=$(sed -n 's/^{"tensor":1,"offset":\([0-9]*\),.*/\1/p' plan.json)
	sed "s/^{\"tensor\":10,\"offset\":[0-9]*,/{\"tensor\":10,\"offset\":$state,/" plan.json >bad.json
	! cmp -s plan.json bad.json || { cat plan.json; return 1; }
	words="V4 write: step 3 'left' writes tensor 8 'left' to bytes [$state, $((state + 128)))"
	fails 1 "$words of the arena, where tensor 15 'window' must survive the exit" \
		npumemctl run --engine npumem-engine --plan bad.json stream.tflite
}

check "daemon and engine are there" everything
shown "planned by the daemon: $STEPS inferences, state in the arena" by_daemon
shown "in 2 bands: the same" offline --bands 2
shown "tile-scheduled: the same" offline --planner tile-scheduled --rows 4
check "the test operator: $STEPS inferences, all equal" mixed
shown "a tensor on the state's bytes: refused by the driver" onto_state
check "the engine ends" stop_engine
finish
