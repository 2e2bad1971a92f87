#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_tilesched.sh - npumemctl plan --planner tile-scheduled: one row a tile
# by itself, the list of orders, and plans picked from it.
#
# usage: test_npumemctl_tilesched.sh NPUMEMCTL GRAPHS
#
# TAP. GRAPHS: tests/graphs.

ctl=$(realpath "$1") model=$(realpath "$2")/fsrcnn_s_x2_512.fused.json
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

# usage TEXT COMMAND...: exit status 2, TEXT the first line of standard error
usage() { says_first 2 "npumemctl plan: $1" "${@:2}"; }

plan() { "$ctl" plan --planner tile-scheduled --external-io "$@" "$model"; }
# value NAME FILE: of a flat field of a JSON object
value() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2" | head -n 1; }

# 512 rows in each of four layers and 1024 in the last, whose tiles are its rows'.
one_row() {
	plan -j -o plan.json >summary.json || return 1
	[ "$(value steps summary.json)" = 3072 ] && [ "$(value arena summary.json)" -le 90112 ] &&
		"$ctl" verify "$model" plan.json && "$ctl" show --graph "$model" plan.json >show.txt &&
		grep -q '^"tiling": {"rows":1,' plan.json
}

same_as_rows() {
	plan -o a.json >/dev/null && plan --rows 1 -o b.json >/dev/null && cmp a.json b.json
}

rings() {
	plan --engine rings -j -o rings.json >summary.json || return 1
	[ "$(value placements summary.json)" = 4 ] && grep -q '"ring"' rings.json &&
		"$ctl" verify "$model" rings.json
}

pareto() {
	plan --pareto -j >pareto.json && plan --pareto >pareto.txt || return 1
	grep -q '"complete":true' pareto.json && grep -q '"weight_factor":1' pareto.json || return 1
	[ "$(grep -c '' pareto.txt)" -ge 8 ] && grep -q '^ *peak  weights fetched' pareto.txt
}

# A whole tensor's room: no halo is read twice.
budget() {
	plan --arena-budget 9MiB -j >summary.json || return 1
	[ "$(value halo_bytes summary.json)" = 0 ]
}

too_small() {
	local err
	err=$(plan --arena-budget 80KiB -j 2>&1 >summary.json)
	[ $? = 4 ] || return 1
	echo "$err"
	[ "$(cat summary.json)" = '{"graph":"fsrcnn_s_x2_512.fused","planner":"tile-scheduled","status":"unknown","budget":81920,"ended_by":null}' ] || return 1
	[[ $err == "npumemctl: $model: needs "*" bytes, budget 81920, lower bound "*"; that is the order of tiles with the lowest peak; no order needs less than "* ]]
}

# fails TEXT COMMAND...: exit status 1, TEXT all of standard error
fails() { says 1 "npumemctl: $model: $1" "${@:2}"; }

own='does not take the schedules of planner cosma'
for order in '--fixed-schedule' '--schedule default' '--schedule mpmf' '--schedule tiled'; do
	# shellcheck disable=SC2086 # two words are two words
	check "$order" fails "planner tile-scheduled $own" plan $order
done
check "--fixed-schedule, rings" fails "planner tile-scheduled-rings $own" \
	plan --engine rings --fixed-schedule

need='--pareto, --traffic-factor and --weights-on-chip need --planner tile-scheduled'
check "one row a tile where nothing else is said; verified, drawn" one_row
check "--rows 1 is that" same_as_rows
check "--engine rings: a placement a tensor" rings
check "--pareto, as text and as JSON" pareto
check "--arena-budget takes the least traffic that fits" budget
check "--arena-budget below the lowest peak" too_small
check "--traffic-factor 1" plan --traffic-factor 1
check "--pareto of another planner" usage "$need" "$ctl" plan --pareto "$model"
check "--traffic-factor of another planner" usage "$need" "$ctl" plan --traffic-factor 2 "$model"
check "--weights-on-chip of another planner" \
	usage "$need" "$ctl" plan --weights-on-chip 1KiB --planner taa "$model"
check "--pareto with -o" usage "--pareto makes no plan to write" plan --pareto -o x.json
one='--pareto lists all orders: --budget, --traffic-factor and --schedule choose one'
check "--pareto within a budget" usage "${one/--budget/--arena-budget}" plan --pareto --arena-budget 9MiB
check "--pareto with a traffic factor" usage "$one" plan --pareto --traffic-factor 2
check "--pareto in the graph's order" usage "$one" plan --pareto --fixed-schedule
engine='--pareto places nothing: an engine makes no difference'
check "--pareto of an engine" usage "$engine" plan --pareto --engine rings
check "--pareto of an engine by its planner's name" usage "$engine" \
	"$ctl" plan --planner tile-scheduled-rings --pareto "$model"
check "--pareto with --report" usage "--pareto makes no plan to report on" plan --pareto --report
check "--pareto with --tiles" usage "--pareto makes no plan to report on" plan --pareto --tiles
check "--traffic-factor below 1" \
	usage "--traffic-factor: '0.5' is not a factor from 1 to 1000000" plan --traffic-factor 0.5
check "--emit-tflite" usage \
	"--emit-tflite: TensorFlow Lite Micro keeps the order of operators, --planner tile-scheduled does not" \
	plan --emit-tflite x.tflite
check_plan
