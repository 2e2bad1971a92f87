#!/bin/sh
# SPDX-License-Identifier: MIT
#
# inference.sh - real models in TensorFlow Lite, with memory that npumemd plans and the driver
# enforces: all of /opt/npumem/inference. `make inference` and the lane of that name run it.
# shellcheck source=tests/e2e/lib.sh
. /opt/npumem/e2e/lib.sh

INFERENCE=npumem-tflite PLANNED='-o fallback=error' RUNS=5 SEED=1
# shellcheck source=tests/lib/inference.sh
. /opt/npumem/e2e/inference_table.sh

check 'npumemd starts' start_daemon
infer_folder driver /opt/npumem/inference
check 'some model was run' inferred 1
finish
