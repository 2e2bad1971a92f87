#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_headers.sh - the installed headers, each on its own, in C and C++, without a
# warning of those that people turn on.
#
# usage: test_headers.sh SOURCE_FOLDER LIBDRM_HEADERS
#
# TAP.
set -u

top=$1 drm=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

# header COMPILER STANDARD SUFFIX HEADER
header() {
	n=$((n + 1))
	what="$4 by $1, $2"
	if ! command -v "$1" >/dev/null; then
		echo "ok $n - $what # SKIP no $1 here"
		return
	fi
	echo "#include <$4>" >"$tmp/use.$3"
	if "$1" -std="$2" -Wall -Wextra -pedantic -Werror -fsyntax-only \
		-I"$top/userspace/libnpumem" -I"$top/userspace/libnpuplan" -I"$top/userspace/formats" -I"$top/uapi" \
		-isystem "$drm" "$tmp/use.$3" >"$tmp/log" 2>&1; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/# /' "$tmp/log"
		failed=1
	fi
}

for name in npumem.h npuplan.h npuplan_base.h npuplan_graph.h npuplan_pack.h \
	npuplan_plan.h npuplan_tiling.h npuimport.h npumem_drm.h npumem_graph.h npumem_plan.h npumem_netlink.h; do
	header gcc c11 c $name
	for standard in c++11 c++20; do
		header g++ $standard cc $name
	done
	header clang++-19 c++17 cc $name
done
echo "1..$n"
[ $failed = 0 ]
