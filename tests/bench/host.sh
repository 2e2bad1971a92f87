#!/bin/sh
# SPDX-License-Identifier: MIT
#
# host.sh - measure planners, verifier, npumem-engine's operators and npumemd on this machine
# (scripts/bench runs it).
#
# All graphs of $NPUMEM_SHARED/graphs (default: ../shared beside the
# repository), in whole operators and in 8 bands.  Where that folder is absent,
# only those kept in tests/graphs, which it says loudly.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
bench_plan=${NPUMEM_BUILD:-$top/build}/bench-build/tests/bench/bench_plan
graphs=${NPUMEM_SHARED:-$top/../shared}/graphs
if [ ! -d "$graphs" ]; then
	echo "WARNING: no $graphs, so only the few graphs of tests/graphs are measured" >&2
	graphs=$top/tests/graphs
fi
echo "== auto, whole operators; then beside the best greedy, nnc and no operator in place"
"$bench_plan" "$graphs"/*.json
"$bench_plan" -c "$graphs"/*.json
echo "== auto, whole operators, concats copied and joined"
"$bench_plan" -j "$graphs"/*.json
echo "== auto, 8 row bands an operator"
"$bench_plan" -b 8 "$graphs"/*.json | tail -n 1
for planner in size duration peers breadth start area conflicts; do
	echo "== greedy-$planner, whole operators"
	"$bench_plan" -p "greedy-$planner" "$graphs"/*.json | tail -n 1
done
echo "== verifier"
"$(dirname "$bench_plan")/bench_verify"

echo "== engine: operators of npumem-engine beside XNNPACK's, one thread"
"$(dirname "$bench_plan")/bench_engine"

# TensorFlow Lite with the borrowing delegate beside plain TensorFlow Lite.
rc=0
runtime=$("$top/scripts/fetch-tflite") || rc=$?
tflite_models=${NPUMEM_SHARED:-$top/../shared}/models/tflite
if [ $rc = 0 ] && [ -d "$tflite_models" ]; then
	echo "== TensorFlow Lite beside itself with the delegate, one thread, in process"
	faces=$("$top/scripts/fetch-model") || [ $? = 4 ]
	words=$("$top/scripts/fetch-sample" wake-words) || [ $? = 4 ]
	userspace=${NPUMEM_BUILD:-$top/build}/bench-build/userspace
	# shellcheck disable=SC2086 # a list of files
	python3 "$top/tests/bench/bench_inference.py" "$userspace/npumem-tflite/npumem-tflite" \
		"$userspace/runtimes/tflite/libnpumem-tflite.so" "$runtime" "$tflite_models"/*.tflite \
		$faces ${words:+"$words"/*.tflite}
else
	echo "WARNING: no TensorFlow Lite, or no $tflite_models, so inferences are not measured" >&2
fi

# TAA, on the networks of its paper: intermediate tensors, layer order.
bench_taa=${NPUMEM_BUILD:-$top/build}/bench-build/tests/bench/bench_taa
taa_models=
for model in inception_v3 inception_v4 mobilenet_v1 mobilenet_v2 resnetv2_101 \
	resnetv2_101_slim_299 squeezenet1_0 mnasnet1_3 fsrcnn_x2_512 fsrcnn_s_x2_512; do
	[ ! -e "$graphs/$model.fused.json" ] || taa_models="$taa_models $graphs/$model.fused.json"
done
for bytes in 262144 524288 1048576; do
	for layout in nhwc nc32hw; do
		# Tile scheduling, too, in the layout in which a row is one piece.
		[ $layout = nhwc ] && schedule=-s || schedule=
		echo "== TAA, $bytes bytes on chip, $layout"
		# shellcheck disable=SC2086 # a list of files
		"$bench_taa" -m $bytes -l $layout $schedule $taa_models
	done
done
for layout in nhwc nc32hw; do
	echo "== TAA, 524288 bytes on chip, $layout, concats joined"
	# shellcheck disable=SC2086 # a list of files
	"$bench_taa" -m 524288 -l $layout -j $taa_models
done
echo "== TAA: growth"
"$bench_taa" -g

# Packing alone, on the instances of MiniMalloc.
bench_pack=${NPUMEM_BUILD:-$top/build}/bench-build/tests/bench/bench_pack
instances=${NPUMEM_SHARED:-$top/../shared}/bench/minimalloc
if [ -d "$instances" ]; then
	echo "== packing core: first packing within 1048576"
	"$bench_pack" fit 1048576 "$instances"/[A-K].1048576.csv
	echo "== packing core: lowest packing, 10 seconds of CPU time each at most"
	"$bench_pack" minimise 10 "$instances"/[A-K].1048576.csv
	echo "== packing core: the other packers"
	"$bench_pack" greedy "$instances"/[A-K].1048576.csv
	if [ -n "${MINIMALLOC-}" ]; then
		echo "== MiniMalloc and npumemctl bench pack in turn, seconds of the whole process"
		sh "$top/tests/bench/minimalloc.sh" "$MINIMALLOC" npumemctl 1048576 \
			"$instances"/[A-K].1048576.csv
	fi
else
	echo "WARNING: no $instances, so the packing core is measured on synthetic items only" >&2
fi
echo "== packing core: growth"
"$bench_pack" grow

# Order, addresses and spilling together; exits with an error if a known optimum is missed.
bench_cosma=${NPUMEM_BUILD:-$top/build}/bench-build/tests/bench/bench_cosma
if [ "$graphs" != "$top/tests/graphs" ]; then
	echo "== cosma: networks designed by people, networks found by search, large ones"
	"$bench_cosma" "$graphs"
	echo "== cosma: 5,000 and 50,000 operators, a minute and 512 MiB"
	"${bench_cosma}_large" "$graphs"
	echo "== cosma: other networks, operators that run again, two banks"
	"${bench_cosma}_options" "$graphs"
	echo "== cosma beside the paper's integer program on HiGHS, 20 seconds each at most"
	"${bench_cosma}_ilp" "$graphs/resnet50.json" "$graphs/deeplabv3_resnet50.json" \
		"$graphs/densenet121.json" "$graphs/transformer.json" \
		"$graphs/darts_imagenet.fused.json"
	"${bench_cosma}_ilp" -p "$graphs/resnet50.json"
	echo "== npumemd: a restart, first answers, plans that improve"
	"$(dirname "$bench_plan")/bench_daemon" "$graphs/pnasnet5large.json" \
		"$graphs/nasnetalarge.json" "$graphs/amoebanetd_18_256.json" "$graphs/densenet121.json"
else
	echo "WARNING: no shared graphs, so cosma and npumemd are not measured" >&2
fi
