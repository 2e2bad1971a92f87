#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_onnx.sh - ONNX models: sizes of dimensions, and builds without a reader.
#
# usage: test_npumemctl_onnx.sh NPUMEMCTL CORPUS yes|no
#
# The last word says whether this build reads ONNX models.
#
# TAP.

ctl=$(realpath "$1") corpus=$(realpath "$2") reads=$3
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"
cp "$corpus/dims.onnx" dims.onnx
cp "$corpus/conv_pool_gemm.onnx" whole.onnx

if [ "$reads" = no ]; then
	check 'a build without a reader says so' says 1 'npumemctl: whole.onnx: this is an ONNX model, and this build reads none: it was made without protobuf-c or without ONNX'\''s schema (meson'\''s option onnx)' \
		"$ctl" plan whole.onnx
	check_plan
	exit
fi

sized() {
	local all="--dim N=2 --dim Q=3 --dim z:1=4"
	# shellcheck disable=SC2086 # words
	says 0 '' "$ctl" plan $all -o plan.json dims.onnx &&
		says 0 '' "$ctl" verify $all dims.onnx plan.json &&
		says 0 '' "$ctl" show $all --graph dims.onnx plan.json &&
		says 0 '' "$ctl" import $all -o graph.json dims.onnx &&
		grep -q '"shape": *\[2, *3\]' graph.json
}
check 'planned, verified, shown' says 0 '' "$ctl" plan whole.onnx
check 'sizes of dimensions' sized
check 'a dimension without one' says 1 "npumemctl: dims.onnx: input 'x' has a dimension 'Q' \
without a size (dimension 1): give one, as Q=1" "$ctl" plan --dim N=2 dims.onnx
check 'a name that the model has not' says 1 "npumemctl: whole.onnx: a size is given for \
dimension 'N', and the model has none of that name" "$ctl" plan --dim N=1 whole.onnx
for wrong in N N= =1 N=0 N=x N=1x N=-1 N=2147483648; do
	check "--dim $wrong" says 2 "npumemctl plan: --dim: '$wrong' is not NAME=SIZE, with a size \
from 1 to 2147483647
Try \`npumemctl plan --help' or \`npumemctl plan --usage' for more information." "$ctl" plan --dim "$wrong" dims.onnx
done
head -c 100 whole.onnx >cut.onnx
check 'a model that is cut short' says 1 'npumemctl: cut.onnx: no field of a Protocol Buffers message (ModelProto) begins at byte 2' \
	"$ctl" plan cut.onnx
check_plan
