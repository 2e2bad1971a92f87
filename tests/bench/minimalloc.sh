#!/bin/sh
# SPDX-License-Identifier: MIT
#
# minimalloc.sh - MiniMalloc and npumemctl bench pack in turn, seconds of the whole process.
#
# usage: minimalloc.sh MINIMALLOC NPUMEMCTL CAPACITY FILE.csv...
#
# A line a FILE: name, MiniMalloc's seconds, npumemctl's, how many times as long;
# then the same of all.  What MiniMalloc wrote is checked: it must be a packing
# within CAPACITY, or the comparison is none.
set -eu

[ $# -ge 4 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
minimalloc=$1 npumemctl=$2 capacity=$3
shift 3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for file in "$@"; do
	begin=$(date +%s.%N)
	"$minimalloc" --capacity="$capacity" --input="$file" --output="$out/theirs.csv" >&2
	middle=$(date +%s.%N)
	"$npumemctl" bench pack --capacity "$capacity" "$file" >"$out/ours"
	end=$(date +%s.%N)
	# With offsets the file is a problem whose items are all fixed.
	"$npumemctl" bench pack --capacity "$capacity" "$out/theirs.csv" >"$out/check" || {
		echo "minimalloc.sh: $minimalloc: no packing of $file within $capacity" >&2
		exit 1
	}
	echo "$(basename "$file") $begin $middle $end" >>"$out/times"
done
awk '{
	theirs += $3 - $2
	ours += $4 - $3
	printf "%-16s %10.4f %10.4f %8.2f\n", $1, $3 - $2, $4 - $3, ($3 - $2) / ($4 - $3)
}
END { printf "%-16s %10.4f %10.4f %8.2f\n", "total", theirs, ours, theirs / ours }' "$out/times"
