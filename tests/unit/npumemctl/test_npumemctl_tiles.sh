#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_tiles.sh - graph blobs whose tiles are wrong: npumemctl plan names
# tensor, tile and step.
#
# usage: test_npumemctl_tiles.sh NPUMEMCTL
#
# TAP. Each is a good blob but for one tile, and the message is compared as a whole.

ctl=$(realpath "$1")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# x -> copy -> a -> mix -> y, 4 rows of 8 bytes each, in two bands. Tile 3 is what copy
# writes last, the lower half of a; tile 6 is what mix then reads, rows 1 to 3; tile 7
# the lower half of y.
cat >graph.json <<'JSON'
{"name": "g", "dtype_bytes": 1, "layout": "NHWC", "tensors": [
 {"id": 0, "name": "x", "shape": [1, 4, 4, 2], "bytes": 32, "kind": "input"},
 {"id": 1, "name": "a", "shape": [1, 4, 4, 2], "bytes": 32, "kind": "activation"},
 {"id": 2, "name": "y", "shape": [1, 4, 4, 2], "bytes": 32, "kind": "output"}],
 "ops": [
 {"id": 0, "name": "copy", "type": "relu", "inputs": [0], "outputs": [1], "attrs": {}},
 {"id": 1, "name": "mix", "type": "maxpool", "inputs": [1], "outputs": [2],
  "attrs": {"kernel": [3, 1], "stride": [1, 1], "padding": [1, 0]}}]}
JSON

# spoil TILE FIELD VALUE: struct npumem_tile: tensor, flags, region: offset, length, count
# of three, pad, stride of three
spoil() {
	python3 - "$@" <<'PYTHON'
import struct, sys

tile, field, value = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
fields = {"offset": (8, "<Q"), "length": (16, "<Q"), "count0": (24, "<I"), "stride0": (40, "<Q")}
blob = bytearray(open("good.bin", "rb").read())
sections, stride = struct.unpack_from("<II", blob, 16)
for i in range(sections):
    kind, size, at, count = struct.unpack_from("<IIQQ", blob, 32 + i * stride)
    if kind == 2:
        assert tile < count
        where, form = fields[field]
        struct.pack_into(form, blob, at + tile * size + where, value)
open("bad.bin", "wb").write(blob)
PYTHON
}

# refused NAME TEXT [TILE FIELD VALUE]...: planning the blob with these changes fails
refused() {
	local name=$1 text="npumemctl: bad.bin: $2"
	shift 2
	cp whole.bin good.bin
	while [ $# -gt 0 ]; do
		spoil "$1" "$2" "$3" || exit 1
		cp bad.bin good.bin
		shift 3
	done
	check "$name" says 1 "$text" "$ctl" plan bad.bin
}

"$ctl" plan --bands 2 --graph-blob whole.bin graph.json >/dev/null || exit 1
"$ctl" plan whole.bin >/dev/null || exit 1

refused 'a tile outside its tensor' \
	"graph refused: format: tile 3 of tensor 1 'a': it ends beyond the tensor (used by step 1 'copy[1/2]')" 3 offset 17
refused 'no bytes' \
	"graph refused: format: tile 3 of tensor 1 'a': its length is zero (used by step 1 'copy[1/2]')" 3 length 0
refused 'a count of zero' \
	"graph refused: format: tile 3 of tensor 1 'a': a count is zero (used by step 1 'copy[1/2]')" 3 count0 0
refused 'repetitions that overlap' \
	"graph refused: format: tile 3 of tensor 1 'a': a stride is too small, repetitions overlap (used by step 1 'copy[1/2]')" \
	3 length 4 3 count0 2 3 stride0 3
refused 'a gap in what a reader needs' \
	"graph refused: V3 read: step 3 'mix[1/2]' reads tile 6 of tensor 1 'a', whose bytes [31, 32) no earlier step writes" 3 length 15
refused 'bytes that are written twice' \
	"graph refused: V4 write: step 1 'copy[1/2]' writes tile 3 of tensor 1 'a', whose bytes [15, 16) step 0 'copy[0/2]' writes too" 3 offset 15
refused 'an output that is not all written' \
	"graph refused: V7 exit: bytes [31, 32) of output tensor 2 'y' are never written" 7 length 15
check_plan
