#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tile-aware allocation on the device: networks cut into row bands, planned by taa, every
# tile verified and enforced, and the outputs compared with those of a reference that
# uses no memory twice. The last graph has tens of thousands of tiles. And by
# tile-scheduled, which interleaves rows of consecutive layers and places tensors in
# pieces.
# Functions are called by name, through check.
# shellcheck disable=SC2317,SC2119,SC2086
# shellcheck source=tests/lib/e2e.sh
. /opt/npumem/e2e/e2e.sh

SQUEEZENET=$GRAPHS/squeezenet1_1.fused.json
FSRCNN=$GRAPHS/fsrcnn_s_x2_512.fused.json
FSRCNN_X2=$GRAPHS/fsrcnn_x2_512.fused.json

# planned PLANNER GRAPH OPTION...: verified here and by the driver, run, equal.
planned() {
	planner=$1 graph=$2
	shift 2
	npumemctl plan --planner "$planner" "$@" "$graph" -o plan.json || return 1
	npumemctl run -j --plan plan.json "$graph" >run.json && equal run.json || return 1
	[ "$(field planner run.json)" = "$planner" ] || return 1
	echo "$(field steps run.json) steps, $(field jobs run.json) jobs, arena $(field arena run.json)," \
		"$(field tile_states run.json) cells, verified in" \
		"$(($(field verify_ns run.json) / 1000000)) ms, run in $(field run_seconds run.json) s"
}

tiled() { planned taa "$1" --bands "$2"; }

# joined GRAPH OPTION...: inputs of concats are placed as parts of their outputs.
joined() {
	graph=$1
	shift
	planned taa "$graph" --concat join "$@" && grep -q '"concat":"join"' plan.json
}

# scheduled GRAPH BYTES [OPTION...]: a row at a time, in an arena of at most so many bytes.
scheduled() {
	graph=$1 bytes=$2
	shift 2
	planned tile-scheduled "$graph" --rows 1 "$@" || return 1
	[ "$(field arena run.json)" -le "$bytes" ]
}

# summed GRAPH OPTION...: some steps add up a part of their sums, which the next ones update.
summed() {
	graph=$1
	shift
	planned taa "$graph" "$@" && grep -q '"depth":[0-9]' plan.json
}

# patched GRAPH BYTES: patch by patch, as found, in an arena of at most so many bytes.
patched() {
	planned auto "$1" --patches best && grep -q '"patches":\[' plan.json || return 1
	[ "$(field arena run.json)" -le "$2" ]
}

# chain CONVOLUTIONS ROWS: 3 x 3 on images of 16 columns and 4 channels.
chain() {
	awk -v n="$1" -v rows="$2" 'BEGIN {
		bytes = rows * 64
		printf "{\"name\": \"chain\", \"dtype_bytes\": 1, \"tensors\": ["
		for (i = 0; i <= n; i++)
			printf "%s{\"id\": %d, \"name\": \"t%d\", \"shape\": [1, 4, %d, 16], \"bytes\": %d, \"kind\": \"%s\"}",
				i ? ", " : "", i, i, rows, bytes,
				i == 0 ? "input" : i == n ? "output" : "activation"
		printf "], \"ops\": ["
		for (i = 0; i < n; i++)
			printf "%s{\"id\": %d, \"name\": \"c%d\", \"type\": \"conv2d\", \"inputs\": [%d], \"outputs\": [%d], \"attrs\": {\"kernel\": [3, 3], \"stride\": [1, 1], \"padding\": [1, 1], \"dilation\": [1, 1], \"groups\": 1}}",
				i ? ", " : "", i, i, i, i + 1
		print "]}"
	}' >chain.json
}

# Each of the 32 convolutions in 1024 bands of one row: a tile read, a tile written.
many_tiles() {
	chain 32 1024
	tiled chain.json 1024 || return 1
	[ "$(field steps run.json)" = 32768 ]
}

shown "SqueezeNet in 8 bands: outputs equal" tiled "$SQUEEZENET" 8
shown "SqueezeNet in one-row bands: outputs equal" tiled "$SQUEEZENET" 512
shown "FSRCNN-s in 8 bands: outputs equal" tiled "$FSRCNN" 8
shown "FSRCNN-s in one-row bands: outputs equal" tiled "$FSRCNN" 512
shown "SqueezeNet, concats joined, in 8 bands: outputs equal" joined "$SQUEEZENET" --bands 8
shown "SqueezeNet, concats joined, one range each, in 8 bands: outputs equal" \
	joined "$SQUEEZENET" --bands 8 --layout nchw
shown "SqueezeNet, concats joined, tile-scheduled: outputs equal" \
	planned tile-scheduled "$SQUEEZENET" --rows 1 --concat join
shown "SqueezeNet, concats joined, in tiles of 8 rows x 20 columns: outputs equal" \
	joined "$SQUEEZENET" --rows 8 --columns 20 --layout nchw
shown "SqueezeNet in tiles of 4 rows x 28 columns, tile-scheduled: outputs equal" \
	planned tile-scheduled "$SQUEEZENET" --rows 4 --columns 28
shown "MobileNetV2 through 16 KiB with partial sums: outputs equal" \
	summed "$MOBILENET" --onchip 16KiB --partial-sums
shown "SqueezeNet, two convolutions told depth, concats joined: outputs equal" \
	summed "$SQUEEZENET" --concat join --rows 8 \
	--tile features.3.squeeze=8x8xallx16 --tile features.3.expand3x3=4xallx10x5
shown "FSRCNN-s patch by patch, 32 x 32 pixels each: outputs equal" \
	planned taa "$FSRCNN" --patches 0..4=32x32
shown "SqueezeNet in the best patches: 169 KiB, outputs equal" patched "$SQUEEZENET" 173056
shown "MobileNetV2, five layers patch by patch, parameters placed and loaded: outputs equal" \
	planned cosma "$MOBILENET" --patches 0..4=28x28 --params --arena-budget 1300KiB --work 200000
shown "32768 steps, 65536 tiles: verified, enforced, outputs equal" many_tiles
shown "FSRCNN-s, tile-scheduled: outputs equal" scheduled "$FSRCNN" 1131520
shown "MobileNetV2, tile-scheduled: outputs equal" scheduled "$MOBILENET" 185248
shown "FSRCNN, tile-scheduled, input and output bound: 194 KiB, outputs equal" \
	scheduled "$FSRCNN_X2" 198656 --external-io
shown "MobileNetV2, tile-scheduled, input and output bound: 105 KiB, outputs equal" \
	scheduled "$MOBILENET" 107520 --external-io
finish
