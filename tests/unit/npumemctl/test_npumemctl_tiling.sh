#!/bin/bash
# SPDX-License-Identifier: MIT
#
# test_npumemctl_tiling.sh - options that say how operators are cut; on-chip memory.
#
# usage: test_npumemctl_tiling.sh NPUMEMCTL GRAPHS_FOLDER MODEL.tflite
#
# TAP. Every message and exit status of a refusal is compared as a whole.

ctl=$(realpath "$1") graphs=$(realpath "$2") model=$(realpath "$3")
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

net=$graphs/mobilenet_v1.fused.json

# A plan says how its graph was cut: whoever reads it needs no options. options...
round_trip() {
	"$ctl" plan "$@" "$net" -o plan.json --blob plan.bin >/dev/null &&
		"$ctl" verify "$net" plan.json &&
		"$ctl" verify "$@" "$net" plan.bin &&
		"$ctl" show --graph "$net" plan.json >drawn && [ -s drawn ]
}
for layout in nhwc nchw nc32hw; do
	check "256 KiB on chip, $layout" round_trip --onchip 256KiB --layout $layout
	check "256 KiB on chip, $layout, double buffers" \
		round_trip --onchip 256KiB --layout $layout --double-buffer
done
check 'a row a step' round_trip --rows 1
for layout in nhwc nchw nc32hw; do
	check "a row, 30 columns a step, $layout" round_trip --rows 1 --columns 30 --layout $layout
done
# A blob does not say how it was cut: whoever reads it is told again.
columns_shown() {
	"$ctl" plan --rows 14 --columns 28 "$net" -o plan.json --blob plan.bin >/dev/null &&
		"$ctl" show --graph "$net" plan.json >drawn &&
		"$ctl" show --rows 14 --columns 28 --width 47 --graph "$net" plan.bin >of_blob &&
		[ -s drawn ] && cmp drawn of_blob
}
check 'a blob of tiles of columns is shown' columns_shown
check 'rows, with parameters' round_trip --rows 16 --params
check 'bands, other layout' round_trip --bands 4 --layout nchw
check 'one operator told columns' round_trip --tile features.1.0=28x16x30,channels
check 'one operator told' round_trip --tile features.1.0=28x16,channels
check 'one told, the others chosen' round_trip --onchip 512KiB --tile fc=allx250 --tile 0=10
told() {
	"$ctl" plan --onchip 512KiB --tile fc=allx250 --tile 0=10 -o plan.json "$net" >/dev/null &&
		grep -q '^{"op":0,"rows":10},$' plan.json && grep -q '"channels":250' plan.json
}
check 'what was told is in the plan' told
# The sample of docs/tiling.md.
check 'two told, the others chosen' round_trip --onchip 512KiB --tile features.0.0=14x32 \
	--tile fc=allx100,channels
same_choices() {
	"$ctl" plan --onchip 512KiB -o one.json "$net" >/dev/null &&
		"$ctl" plan --onchip 512KiB -o two.json "$net" >/dev/null && cmp one.json two.json
}
check 'the same choices each time' same_choices
# All is moved once, but halos; and that fits.
check 'plan --tiles: each operator' python3 -c '
import json, subprocess, sys
r = json.loads(subprocess.check_output(
    [sys.argv[1], "plan", "-j", "--tiles", "--onchip", "262144", sys.argv[2]]))
assert len(r["tiles"]) == 30 and r["steps"] == sum(t["steps"] for t in r["tiles"]), r
for t in r["tiles"]:
    moved = sum(t["moved"].values())
    assert 0 < t["onchip"] <= 262144 and moved >= 0.95 * t["least"] and moved < 1.3 * t["least"], t
assert r["tiles"][-2]["name"] == "fc" and r["tiles"][-2]["channels"] < 1000, r["tiles"][-2]
' "$ctl" "$net"
check 'plan --tiles: a table' prints 'features.1.0                                  56x32       2' \
	"$ctl" plan --tiles --onchip 512KiB "$net"
check 'a summary line' prints 'tiling       nhwc, at most ' "$ctl" plan --onchip 512KiB "$net"

# A row of its largest tensor, 512 pixels of 32 channels, has 16 KiB.
wide() {
	local net=$graphs/fsrcnn_s_x2_512.fused.json
	"$ctl" plan --onchip "$1" -o plan.json "$net" >/dev/null &&
		grep -q '^{"op":.*"columns":[0-9]' plan.json && "$ctl" verify "$net" plan.json
}
for onchip in 12KiB 6KiB; do
	check "rows that do not fit into $onchip whole" wide $onchip
done
check 'plan --tiles: columns' prints 'features.1.0                      28x16x30,channels      32' \
	"$ctl" plan --tiles --tile features.1.0=28x16x30,channels "$net"
check 'plan -j --tiles: columns' python3 -c '
import json, subprocess, sys
r = json.loads(subprocess.check_output(
    [sys.argv[1], "plan", "-j", "--tiles", "--tile", "features.1.0=28xallx30", sys.argv[2]]))
assert [t["columns"] for t in r["tiles"]] == [30 if t["name"] == "features.1.0" else 0 for t in r["tiles"]], r
' "$ctl" "$net"

for layout in nhwc nchw nc32hw; do
	check "64 KiB on chip, partial sums, $layout" \
		round_trip --onchip 64KiB --partial-sums --layout $layout
done
check 'partial sums, double buffers, parameters' \
	round_trip --onchip 96KiB --partial-sums --double-buffer --params
check 'two operators told depth' round_trip --tile fc=allx250xallx256 \
	--tile features.26.0=allx256x4x500,channels
depths() {
	"$ctl" plan --onchip 64KiB --partial-sums -o plan.json "$net" >/dev/null &&
		grep -q '"partial_sums":true' plan.json &&
		grep -q '^{"op":.*"depth":[0-9]' plan.json && "$ctl" verify "$net" plan.json
}
check 'depths that are chosen are in the plan' depths
check 'plan --tiles: depth' prints 'fc                                    1x250xallx256      16' \
	"$ctl" plan --tiles --tile fc=allx250xallx256 "$net"
check 'plan -j --tiles: depth' python3 -c '
import json, subprocess, sys
r = json.loads(subprocess.check_output(
    [sys.argv[1], "plan", "-j", "--tiles", "--tile", "fc=allxallxallx256", sys.argv[2]]))
assert [t["depth"] for t in r["tiles"]] == [256 if t["name"] == "fc" else 0 for t in r["tiles"]], r
' "$ctl" "$net"
# Less is moved with partial sums, in the same memory, or as much.
check 'partial sums move less' python3 -c '
import json, subprocess, sys
def moved(*options):
    r = json.loads(subprocess.check_output([sys.argv[1], "plan", "-j", "--tiles", "--planner", "greedy",
                                            "--onchip", "32KiB", *options, sys.argv[2]]))
    return [sum(t["moved"].values()) for t in r["tiles"]]
without, with_sums = moved(), moved("--partial-sums")
assert sum(with_sums) < 0.95 * sum(without), (sum(with_sums), sum(without))
' "$ctl" "$net"

# ---------------------------------------------------------------- patches
for layout in nhwc nchw nc32hw; do
	check "patches, $layout" round_trip --patches features.0.0..features.8.0=14x14 --layout $layout
done
check 'two ranges in patches, by id, the rest in rows' round_trip --rows 1 --patches 13..22=allx7 --patches 0..8=7
check 'patches on chip' round_trip --onchip 1200KiB --patches 0..8=14x14
# Names may have dots: what counts is the ".." that two operators are around.
python3 - "$net" <<'PYTHON'
import json, sys
net = json.load(open(sys.argv[1], encoding="utf-8"))
for i, name in enumerate(["a", "b..c", "a..b", "c", ".d"]):
    net["ops"][i]["name"] = name
json.dump(net, open("dots.json", "w", encoding="utf-8"))
PYTHON
dotted() { # what operators run in patches: by names, by ids
	"$ctl" plan --patches "$1=14" -o names.json dots.json >/dev/null &&
		"$ctl" plan --patches "$2=14" -o ids.json dots.json >/dev/null && cmp names.json ids.json
}
check 'patches: the last name has dots' dotted 0..b..c 0..1
check 'patches: the first name has dots' dotted b..c..a..b 1..2
check 'patches: a name begins with a dot' dotted a...d 0..4
check 'patches: dots, and an id' dotted a..b..4 2..4
check 'patches: the arena of docs/tiling.md' prints 'arena        435264 bytes' \
	"$ctl" plan --patches 0..8=14x14 "$net"
check 'patches: what is computed again' prints 'patches      1.9 % of all operations run again; patches are' \
	"$ctl" plan --patches 0..8=14x14 "$net"
check 'plan -j --tiles: patches' python3 -c '
import json, subprocess, sys
r = json.loads(subprocess.check_output(
    [sys.argv[1], "plan", "-j", "--tiles", "--patches", "0..2=28x56", sys.argv[2]]))
t = r["tiles"]
assert [(x["rows"], x["columns"], x["steps"]) for x in t[:3]] == [(30, 57, 8), (28, 56, 8), (28, 56, 8)], t[:3]
assert [x["again"] > 0 for x in t] == [True] + [False] * 29, t
assert t[0]["operations"] == 112 * 112 * 32 * 27, t[0]
# 864 of weights and a bias of 32, for each patch.
assert t[0]["moved"]["weights"] == 8 * (864 + 32), t[0]
' "$ctl" "$net"
planned_in_patches() {
	"$ctl" plan --planner "$1" --rows 14 --work 100000 --arena-budget 1MiB --patches 0..8=28x28 \
		"$net" -o plan.json >/dev/null && "$ctl" verify "$net" plan.json
}
for planner in tile-scheduled cosma nnc taa; do
	check "patches, planner $planner" planned_in_patches $planner
done

best_patches() {
	"$ctl" plan --patches "$1" -o plan.json "$net" >out && "$ctl" verify "$net" plan.json &&
		grep -q "^arena        $2 bytes" out && grep -qxF "             $3" out
}
# The arenas of docs/tiling.md.
check 'the best patches' best_patches best 238848 features.4.0..features.8.0=2x6
check 'the best patches for 2 %' best_patches best=2 337088 features.0.0..features.3.0=14x28
check 'the best patches where nothing may run again' best_patches best=0 802816 features.1.0..features.2.0=8
# Numbers are written as those of other options.
check 'per cent with zeros before them' best_patches best=002 337088 features.0.0..features.3.0=14x28
check 'no per cent, in two digits' best_patches best=00 802816 features.1.0..features.2.0=8
nothing_found() {
	! "$ctl" plan --patches best "$graphs/scalar_power.json" | grep '^patches'
}
check 'and nothing is said of them' nothing_found
check 'the best patches, other layout, the rest in rows' \
	round_trip --patches best --layout nc32hw --rows 2

check 'the best patches where concats copy' prints 'arena        238848 bytes (233.2 KiB)' \
	"$ctl" plan --patches best --concat copy "$net"

# --------------------------------------------------------------- refusals
for value in best= best=x best=-1 best=+1 'best= 1' 'best=1 ' best=1.5 best=5% best=all best=3x best=4294967296 bester; do
	check "--patches $value" usage_says "npumemctl plan: --patches: '$value' is not FIRST..LAST=ROWS[xCOLUMNS], each of the two a number or all, nor best[=PERCENT]" \
		"$ctl" plan --patches "$value" "$net"
done
for patches in best best=2; do
	check "the best patches, and $patches" usage_says 'npumemctl plan: --patches best is given twice' \
		"$ctl" plan --patches best --patches $patches "$net"
done
for option in '--patches 0..8=14' '--tile fc=1' '--onchip 1MiB' '--concat join'; do
	# shellcheck disable=SC2086
	check "the best patches and $option" usage_says \
		'npumemctl plan: --patches best excludes other --patches, --tile, --onchip and --concat' \
		"$ctl" plan --patches best $option "$net"
done
for value in 0..8 0=3 ..8=3 0..=3 0..8= 0..8=0 0..8=3x 0..8=3x3x3 0..8=3,rows; do
	check "--patches $value" usage_says "npumemctl plan: --patches: '$value' is not FIRST..LAST=ROWS[xCOLUMNS], each of the two a number or all, nor best[=PERCENT]" \
		"$ctl" plan --patches "$value" "$net"
done
check 'patches from no operator' says 1 \
	"npumemctl: $net: --patches nothing..8=3: there is no operator 'nothing'" \
	"$ctl" plan --patches nothing..8=3 "$net"
check 'patches to no operator' says 1 \
	"npumemctl: $net: --patches 0..30=3: there is no operator '30'" \
	"$ctl" plan --patches 0..30=3 "$net"
check 'patches between several operators' says 1 \
	'npumemctl: dots.json: --patches a..b..c=3: more than one ".." stands between two operators; say their ids' \
	"$ctl" plan --patches a..b..c=3 dots.json
check 'patches between no operators' says 1 \
	'npumemctl: dots.json: --patches a..b..d=3: no ".." stands between two operators' \
	"$ctl" plan --patches a..b..d=3 dots.json
check 'patches of all' says 1 \
	"npumemctl: $net: operator features.8.0: a patch of all rows and columns is none" \
	"$ctl" plan --patches 0..8=allxall "$net"
check 'patches of more rows than there are' says 1 \
	"npumemctl: $net: operator features.8.0: patches of 29 rows, it has 28" \
	"$ctl" plan --patches 0..8=29 "$net"
check 'patches of what is no image' says 1 \
	"npumemctl: $net: operator fc runs in patches: its output is no image that could be cut" \
	"$ctl" plan --patches 28..28=1 "$net"
check 'patches that do not fit' says 1 \
	"npumemctl: $net: operator features.0.0 in patches: step 0 of 4 needs 154060 bytes on chip; there are 102400" \
	"$ctl" plan --onchip 100KiB --patches 0..8=14x14 "$net"
check 'patches, and concats joined' says 1 \
	"npumemctl: $net: where operators run in patches, concats copy" \
	"$ctl" plan --concat join --patches 0..8=14 "$net"
other_patches() {
	"$ctl" plan --patches 0..8=14 -o plan.json "$net" >/dev/null &&
		says 1 'npumemctl: plan.json: tiling: the graph was tiled with other patches' \
			"$ctl" verify --patches 0..8=7 "$net" plan.json
}
check 'verify with other patches' other_patches
check 'too little on chip' says 1 "npumemctl: $net: operator features.26.0 in tiles of 1 rows x 1 channels x 1 columns: step 0 of 50176 needs 2050 bytes on chip, 1024 of them for features.25.0.conv2d; there are 2048" \
	"$ctl" plan --onchip 2KiB "$net"
check 'told, and too little on chip' says 1 "npumemctl: $net: operator fc whole: step 0 of 1 needs 1027024 bytes on chip, 1024000 of them for fc.weight; there are 524288" \
	"$ctl" plan --onchip 512KiB --tile fc=all "$net"
check 'no such operator' says 1 \
	"npumemctl: $net: --tile nothing=3: there is no operator 'nothing'" \
	"$ctl" plan --tile nothing=3 "$net"
check 'more rows than there are' says 1 \
	"npumemctl: $net: operator features.0.0: tiles of 113 rows, it has 112" \
	"$ctl" plan --tile features.0.0=113 "$net"
check 'more columns than there are' says 1 \
	"npumemctl: $net: operator features.0.0: tiles of 113 columns, it has 112" \
	"$ctl" plan --tile features.0.0=1xallx113 "$net"
check 'columns of what has none' says 1 \
	"npumemctl: $net: operator fc: its outputs are no images, or it needs whole rows of its inputs, so that no columns can be cut" \
	"$ctl" plan --tile fc=allxallx1 "$net"
check 'more depth than there is' says 1 \
	"npumemctl: $net: operator fc: tiles of depth 1025, its inputs have 1024 channels" \
	"$ctl" plan --tile fc=allxallxallx1025 "$net"
check 'depth of what has none' says 1 \
	"npumemctl: $net: operator features.1.0: it does not add up channels of its input, so that no depth can be cut" \
	"$ctl" plan --tile features.1.0=allxallxallx16 "$net"
check 'an operator told twice' says 1 \
	"npumemctl: $net: operator features.0.0: its tiling is said twice, or not in order" \
	"$ctl" plan --tile features.0.0=2 --tile 0=3 "$net"
for value in conv1 =3 fc= fc=0 fc=3x fc=3x0 fc=3x3x fc=3x3x0 fc=3x3x3x fc=3x3x3x0 fc=3x3x3x3x3 fc=3,rows,rows fc=-1 fc=4294967296; do
	check "--tile $value" usage_says "npumemctl plan: --tile: '$value' is not OP=ROWS[xCHANNELS[xCOLUMNS[xDEPTH]]][,channels|,rows], each a number or all" \
		"$ctl" plan --tile "$value" "$net"
done
check 'bands and rows' usage_says \
	'npumemctl plan: --bands, --rows and --onchip exclude each other' \
	"$ctl" plan --bands 2 --rows 3 "$net"
check 'rows and on-chip memory' usage_says \
	'npumemctl plan: --bands, --rows and --onchip exclude each other' \
	"$ctl" plan --onchip 4096 --rows 3 "$net"
check 'double buffers of nothing' usage_says \
	'npumemctl plan: --double-buffer needs --onchip' "$ctl" plan --double-buffer "$net"
check 'partial sums of nothing' usage_says \
	'npumemctl plan: --partial-sums needs --onchip' "$ctl" plan --partial-sums "$net"
check 'columns of whole operators' usage_says \
	'npumemctl plan: --columns needs --rows' "$ctl" plan --columns 30 --onchip 1MiB "$net"
check 'no columns' usage_says \
	"npumemctl plan: --columns: '0' is not a number from 1 to 4294967295" \
	"$ctl" plan --rows 1 --columns 0 "$net"
check 'unknown layout' usage_says \
	"npumemctl plan: --layout: 'hwc' is not nhwc, nchw or nc32hw" "$ctl" plan --layout hwc "$net"
check 'no rows' usage_says "npumemctl plan: --rows: '0' is not a number from 1 to 4294967295" \
	"$ctl" plan --rows 0 "$net"
check 'no bytes on chip' usage_says \
	"npumemctl plan: --onchip: '0' is not a number of bytes; give one like 1572864 or 1.5MiB" \
	"$ctl" plan --onchip 0 "$net"
other_layout() {
	"$ctl" plan --onchip 512KiB -o plan.json "$net" >/dev/null &&
		says 1 'npumemctl: plan.json: tiling: the plan is for layout nhwc, the graph was tiled in layout nchw' \
			"$ctl" verify --layout nchw "$net" plan.json
}
check 'verify in another layout' other_layout
other_columns() {
	"$ctl" plan --rows 14 --columns 28 -o plan.json "$net" >/dev/null &&
		says 1 'npumemctl: plan.json: tiling: the graph was tiled with other columns' \
			"$ctl" verify --rows 14 --columns 29 "$net" plan.json
}
check 'verify with other columns' other_columns
other_sums() {
	"$ctl" plan --onchip 1MiB -o plan.json "$net" >/dev/null &&
		says 1 'npumemctl: plan.json: tiling: the graph was tiled with other partial_sums' \
			"$ctl" verify --onchip 1MiB --partial-sums "$net" plan.json
}
check 'verify with partial sums' other_sums
blob_tiles() {
	"$ctl" plan --rows 28 "$net" --graph-blob graph.bin >/dev/null &&
		says 1 'npumemctl: graph.bin: graph mobilenet_v1.fused is not tiled, or not known how' \
			"$ctl" plan --tiles graph.bin
}
check 'tiles of a graph blob' blob_tiles

# ------------------------------------------- docs/tiling.md, "What runs where"
# run takes it, as far as there is a device. option...
taken() { says 1 'npumemctl: /dev/null: /dev/null is not an npumem device' "$ctl" run -d /dev/null "$@"; }
# npumemd, which has the graph as a blob, plans what libnpuplan plans of the model. GRAPH option...
planned_alike() {
	"$ctl" plan "$@" --graph-blob graph.bin --blob plan.bin >/dev/null &&
		"$ctl" plan graph.bin --blob again.bin >/dev/null && cmp plan.bin again.bin
}
for told in '--bands 8' '--rows 8 --columns 28' '--tile fc=allx100,channels' '--onchip 64KiB' \
	'--onchip 64KiB --partial-sums' '--tile fc=allxallxallx9' '--patches 0..8=14x14' \
	'--patches best'; do
	# shellcheck disable=SC2086
	{
		check "run $told" taken $told "$net"
		check "$told: a plan of the blob is that of the model" planned_alike "$net" $told
	}
done
check 'run --concat join' taken --concat join "$graphs/squeezenet1_1.fused.json"
check 'joined: a plan of the blob is that of the model' \
	planned_alike "$graphs/squeezenet1_1.fused.json" --concat join
for told in '--bands 8' '--rows 8 --columns 28' '--tile fc=allx100,channels' '--onchip 64KiB'; do
	# shellcheck disable=SC2086
	check "npumemd cuts: $told" taken --daemon-cuts $told "$net"
done
for other in --daemon-cuts --recompute '--carry-copies needed'; do
	of=${other%% *}
	# shellcheck disable=SC2086
	{
		check "joined where npumemd has $of" usage_says \
			"npumemctl run: --concat join: where npumemd cuts, concats copy: leave out $of" \
			"$ctl" run --concat join $other "$net"
		for patches in 0..8=14 best; do
			check "--patches $patches where npumemd has $of" usage_says \
				"npumemctl run: --patches: npumemd cuts no operators into patches: leave out $of" \
				"$ctl" run --patches $patches $other "$net"
		done
		for told in '--onchip 64KiB --partial-sums' '--tile fc=allxallxallx9'; do
			check "$told where npumemd has $of" usage_says \
				"npumemctl run: --partial-sums and depths of --tile: npumemd has all input channels added up at once: leave out $of" \
				"$ctl" run $told $other "$net"
		done
	}
done
check 'operators that run again, cut' says 1 \
	"npumemctl: $net: --recompute is of whole operators: leave out what says how to cut" \
	"$ctl" run --recompute --rows 8 "$net"
# Before a plan is asked for, and before a device is looked for.
check 'an engine and patches' says 1 \
	"npumemctl: $model: tensor 3 'c' is made in patches: an engine has no commands for these" \
	"$ctl" run --engine npumem-engine --patches 0..1=2 "$model"
check 'an engine and partial sums' says 1 \
	"npumemctl: $model: tensor 3 'c' is made of partial sums: an engine has no commands for these" \
	"$ctl" run --engine npumem-engine --tile 0=allxallxallx1 "$model"
check 'an engine and another layout' says 1 \
	"npumemctl: $model: graph conv2d is laid out as nchw" \
	"$ctl" run --engine npumem-engine --layout nchw "$model"

check_plan
