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

# Packing alone, on the instances of MiniMalloc.
bench_pack=${NPUMEM_BUILD:-$top/build}/userspace/tests/bench/bench_pack
instances=${NPUMEM_SHARED:-$top/../shared}/bench/minimalloc
if [ -d "$instances" ]; then
	echo "== packing core: first packing within 1048576"
	"$bench_pack" fit 1048576 "$instances"/[A-K].1048576.csv
	echo "== packing core: lowest packing, 10 seconds each"
	"$bench_pack" minimise 10 "$instances"/[A-K].1048576.csv
	echo "== packing core: the other packers"
	"$bench_pack" greedy "$instances"/[A-K].1048576.csv
	if [ -n "${MINIMALLOC-}" ]; then
		echo "== MiniMalloc and npumemctl bench pack in turn, seconds of the whole process"
		for file in "$instances"/[A-K].1048576.csv; do
			begin=$(date +%s.%N)
			"$MINIMALLOC" --capacity=1048576 --input="$file" \
				--output="${NPUMEM_BENCH_OUT:-.}/minimalloc.csv" >/dev/null
			middle=$(date +%s.%N)
			npumemctl bench pack --capacity 1048576 "$file" >/dev/null
			end=$(date +%s.%N)
			echo "$(basename "$file") $begin $middle $end"
		done | awk '{ theirs += $3 - $2; ours += $4 - $3
			printf "%-16s %10.4f %10.4f %8.1f\n", $1, $3 - $2, $4 - $3,
				($3 - $2) / ($4 - $3) }
			END { printf "%-16s %10.4f %10.4f %8.1f\n", "total", theirs, ours,
				theirs / ours }'
	fi
else
	echo "WARNING: no $instances, so the packing core is measured on synthetic items only" >&2
fi
echo "== packing core: growth"
"$bench_pack" grow
