#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_headers.sh - the installed headers, each on its own, in C and C++, without a
# warning of those that people turn on.
#
# usage: test_headers.sh SOURCE_FOLDER LIBDRM_HEADERS
#
# TAP.

top=$(realpath "$1") drm=$2
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../lib/command.sh"

# header COMPILER STANDARD SUFFIX HEADER: one test
header() {
	if ! command -v "$1" >/dev/null; then
		skipped "$4 by $1, $2" "no $1 here"
		return
	fi
	echo "#include <$4>" >"use.$3"
	check "$4 by $1, $2" "$1" -std="$2" -Wall -Wextra -pedantic -Werror -fsyntax-only \
		-I"$top/userspace/libnpumem" -I"$top/userspace/libnpuplan" -I"$top/userspace/formats" -I"$top/userspace/runtimes/tflite" -I"$top/uapi" \
		-isystem "$drm" "use.$3"
}

for name in npumem.h npumem_builder.h npumem_commands.h npumem_follow.h npumem_layout.h npumem_memory.h npumem_serve.h npuplan.h npuplan_base.h npuplan_graph.h \
	npuplan_copies.h npuplan_pack.h npuplan_plan.h npuplan_tiling.h npuimport.h npumem_tflite.h npumem_drm.h npumem_graph.h npumem_plan.h npumem_netlink.h; do
	header gcc c11 c $name
	for standard in c++11 c++20; do
		header g++ $standard cc $name
	done
	header clang++-19 c++17 cc $name
done
check_plan
