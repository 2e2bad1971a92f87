#!/bin/sh
# SPDX-License-Identifier: MIT
#
# host.sh - measure the planners and the verifier on this machine (scripts/bench runs it).
#
# All graphs of $NPUMEM_SHARED/graphs (default: ../shared beside the
# repository), in whole operators and in 8 bands.  Where that folder is absent,
# only those kept in tests/graphs, which it says loudly.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
bench_plan=${NPUMEM_BUILD:-$top/build}/userspace/tests/bench/bench_plan
graphs=${NPUMEM_SHARED:-$top/../shared}/graphs
if [ ! -d "$graphs" ]; then
	echo "WARNING: no $graphs, so only the few graphs of tests/graphs are measured" >&2
	graphs=$top/tests/graphs
fi
echo "== greedy, whole operators"
"$bench_plan" "$graphs"/*.json
echo "== greedy, 8 row bands an operator"
"$bench_plan" -b 8 "$graphs"/*.json | tail -n 1
for planner in size duration peers breadth start area; do
	echo "== greedy-$planner, whole operators"
	"$bench_plan" -p "greedy-$planner" "$graphs"/*.json | tail -n 1
done
echo "== verifier"
"$(dirname "$bench_plan")/bench_verify"
