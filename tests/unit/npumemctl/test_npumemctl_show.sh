#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Pictures of real plans: well-formed, self-contained, with the boxes expected, and
# drawn by a browser, if there is one.
#
# usage: test_npumemctl_show.sh NPUMEMCTL GRAPHS

ctl=$(realpath "$1")
graphs=$(realpath "$2")
graph=$graphs/squeezenet1_1.fused.json
# shellcheck source=tests/lib/command.sh
. "$(dirname "$0")/../../lib/command.sh"

usage_has() { # words, command...
	words=$1
	shift
	"$@" >usage 2>&1
	[ $? = 2 ] && grep -qF -e "$words" usage
}

plans() {
	"$ctl" plan --planner taa --bands 16 -o taa.json "$graph" &&
		"$ctl" plan --planner shared-objects --bands 16 -o shared.json "$graph" &&
		"$ctl" plan --planner greedy -o whole.json "$graph"
}

# Rectangles of a class, after a parse as XML.
boxes() { # file, class
	python3 - "$1" "$2" <<-'PYTHON'
	import sys, xml.dom.minidom
	page = xml.dom.minidom.parse(sys.argv[1])
	print(sum(r.getAttribute("class").split()[:1] == [sys.argv[2]] for r in page.getElementsByTagName("rect")))
	PYTHON
}

# A hull for each placement of the plans, and a tile at least.
has_boxes() { # picture, plans...
	picture=$1
	shift
	placements=$(cat "$@" | grep -c '"offset":')
	[ "$placements" -gt 0 ] && [ "$(boxes "$picture" hull)" = "$placements" ] &&
		[ "$(boxes "$picture" tile)" -ge "$placements" ]
}

same_twice() {
	"$ctl" show --graph "$graph" --html again.html taa.json && cmp one.html again.html
}

# The engine's plan is the one of the planner of that name.
engines() {
	"$ctl" plan --planner taa --engine paper --bands 4 -o engine.json "$graph" &&
		"$ctl" plan --planner taa-paper --bands 4 -o planner.json "$graph" &&
		cmp engine.json planner.json
}

check 'plans to draw' plans
check 'engine of a planner' engines
check 'engine without planner' usage_has '--engine is of a planner: --planner is needed' \
	"$ctl" plan --engine paper "$graph"
check 'page of one plan' "$ctl" show --graph "$graph" --html one.html taa.json
check 'page of one plan: well-formed, all boxes' has_boxes one.html taa.json
check 'the same bytes twice' same_twice
check 'page of two plans' "$ctl" show --graph "$graph" --html two.html --svg two.svg \
	taa.json shared.json
check 'page of two plans: well-formed, all boxes' has_boxes two.html taa.json shared.json
check 'picture of two plans: well-formed, all boxes' has_boxes two.svg taa.json shared.json
check 'plans that are cut differently' "$ctl" show --graph "$graph" --svg both.svg taa.json \
	whole.json
check 'both of these: all boxes' has_boxes both.svg taa.json whole.json
# Blocks without positions place what passes through them, at no time to be drawn.
flow() {
	"$ctl" plan -o flow.json "$graphs/case_of.json" &&
		"$ctl" show --graph "$graphs/case_of.json" --svg flow.svg --html flow.html flow.json
}
check 'loops and branches' flow
# Row by row: the first tensor that steps write in two pieces, the next in a ring of all
# its rows, in the bytes that they had.
pieces() {
	"$ctl" plan --planner greedy --bands 64 -o rows.json "$graph" &&
		python3 - "$graph" <<-'PYTHON' &&
		import json, sys

		plan, graph = json.load(open("rows.json")), json.load(open(sys.argv[1]))
		shapes = {t["id"]: t["shape"] for t in graph["tensors"] if t["kind"] == "activation"}
		tall = [p for p in plan["placements"] if len(shapes.get(p["tensor"], [])) == 4
		        and shapes[p["tensor"]][2] > 8][:2]
		upper, ring = tall
		n, channels, rows, width = shapes[upper["tensor"]]
		size = next(t["bytes"] for t in graph["tensors"] if t["id"] == upper["tensor"]) // rows
		plan["placements"].append(dict(upper, rows=[5, rows - 5], offset=upper["offset"] + 5 * size))
		upper["rows"] = [0, 5]
		rows = shapes[ring["tensor"]][2]
		size = next(t["bytes"] for t in graph["tensors"] if t["id"] == ring["tensor"]) // rows
		ring.update(rows=[0, rows], row_stride=size, ring=rows)
		json.dump(plan, open("pieces.json", "w"), indent=1)
		PYTHON
		"$ctl" verify "$graph" pieces.json &&
		"$ctl" show --graph "$graph" --svg pieces.svg --html pieces.html pieces.json
}
check 'pieces and rings' pieces
check 'pieces and rings: well-formed, all boxes' has_boxes pieces.svg pieces.json
check 'page of pieces and rings: well-formed, all boxes' has_boxes pieces.html pieces.json
# As many bytes live at once as planning said, at that position, and no more than there are.
peak() { # graph, options of plan...
	of=$1
	shift
	"$ctl" plan -j "$@" -o peak.json "$of" >summary.json &&
		"$ctl" show --graph "$of" --svg peak.svg peak.json &&
		python3 - "$@" <<-'PYTHON'
		import json, re, sys

		summary, plan = json.load(open("summary.json")), json.load(open("peak.json"))
		note = re.search(r"lower bound \d+; (\d+) live at step (\d+)", open("peak.svg").read())
		live, step = map(int, note.groups())
		# Of whole tensors, what is placed lives; of tiles the bound is what lives at the peak.
		if "cosma" in sys.argv:
		    assert any("spill" in p for p in plan["schedule"])
		    assert live == sum(t["bytes"] for t in summary["peak"]["tensors"]), note
		else:
		    assert live == summary["lower_bound"], note
		assert step == summary["peak"]["position"] and live <= summary["arena"], note
		PYTHON
}
# A mark for each transfer that is in the plan, and a legend that says what it is.
marks() {
	"$ctl" plan --planner cosma --budget MR -o marks.json "$graphs/densenet121.fused.json" &&
		"$ctl" show --graph "$graphs/densenet121.fused.json" --svg marks.svg --html marks.html \
			marks.json && python3 - <<-'PYTHON'
		import json, xml.dom.minidom

		plan = json.load(open("marks.json"))
		for name in "marks.svg", "marks.html":
		    page = xml.dom.minidom.parse(name)
		    paths = [p for p in page.getElementsByTagName("path")
		             if p.parentNode.parentNode.getAttribute("class") != "legend"]
		    for kind in "load", "spill", "fill", "store":
		        planned = sum(kind in p for p in plan["schedule"] if isinstance(p, dict))
		        drawn = [p for p in paths if p.getAttribute("class") == kind]
		        assert len(drawn) == planned, (name, kind, len(drawn), planned)
		        assert all(p.getElementsByTagName("title") for p in drawn)
		        key = [t for t in page.getElementsByTagName("text")
		               if t.getAttribute("class") == "key" and t.firstChild.data.startswith(kind + ":")]
		        assert len(key) == (planned > 0), (name, kind)
		    assert {"spill", "fill", "load", "store"} == {
		        k for p in plan["schedule"] if isinstance(p, dict) for k in p} & {"spill", "fill", "load", "store"}
		PYTHON
}
# As text: no byte has two values, and no more bytes have a place than there are.
text() { # graph, options of plan...
	of=$1
	shift
	"$ctl" plan "$@" -o text.json "$of" && "$ctl" show --graph "$of" text.json >text &&
		python3 - <<-'PYTHON'
		import json, re

		lines = re.findall(r"^ *\d+: (\S+) \((\d+)k\) ", open("text").read(), re.M)
		plan = json.load(open("text.json"))
		assert len(lines) == len(plan["schedule"])
		assert not any("!" in line for line, _ in lines)
		assert any("+" in line for line, _ in lines)
		assert max(int(live) for _, live in lines) <= (plan["arena"] + 1023) // 1024
		PYTHON
}
mobilenet=$graphs/mobilenet_v2.fused.json
check 'peak of tiles in pieces' peak "$mobilenet" --planner tile-scheduled
check 'peak of tiles in rings' peak "$mobilenet" --planner tile-scheduled --engine rings
check 'text of tiles in pieces' text "$mobilenet" --planner tile-scheduled
check 'text of tiles in rings' text "$mobilenet" --planner tile-scheduled --engine rings
check 'text of tiles in whole tensors' text "$graph" --planner taa --bands 16
check 'peak of a plan with transfers' peak "$graphs/densenet121.fused.json" --planner cosma \
	--budget MR
check 'a mark for each transfer' marks
check 'three plans in one picture' usage_has '--svg draws two PLANs at most' \
	"$ctl" show --graph "$graph" --svg x.svg taa.json shared.json whole.json
check 'two plans as text' usage_has 'two PLANs need --html or --svg' \
	"$ctl" show --graph "$graph" taa.json shared.json
# shellcheck disable=SC2046 # a word for each
check '33 plans' usage_has 'more than 32 plans' \
	"$ctl" show --graph "$graph" --html x.html $(yes whole.json | head -n 33)
# shellcheck disable=SC2046 # likewise
check '32 plans and a planner' usage_has 'more than 32 plans' \
	"$ctl" show --graph "$graph" --html x.html --planner auto $(yes whole.json | head -n 32)
check 'a planner without a page' usage_has '--planner needs --html' \
	"$ctl" show --graph "$graph" --planner auto
check 'a planner beside a picture' usage_has 'what --planner plans is for --html alone' \
	"$ctl" show --graph "$graph" --planner auto --html x.html --svg x.svg
for limit in --deadline=1 --work=1 --memory=1MiB --align=64; do
	check "${limit%=*} without a planner" usage_has \
		'--deadline, --work, --memory and --align are for what --planner plans' \
		"$ctl" show --graph "$graph" --html x.html "$limit" whole.json
done
check 'no such planner' usage_has \
	'--planner: there is no planner nobody; npumemctl plan --list-planners names them' \
	"$ctl" show --graph "$graph" --planner nobody --html x.html
# A line for each planner that --list-planners lists, with the arena that "plan" finds.
small=$graphs/mobilenet_v1_025.fused.json
all_planners() {
	"$ctl" show --graph "$small" --html all.html --planner all &&
		"$ctl" show --graph "$small" --html all2.html --planner all && cmp all.html all2.html &&
		"$ctl" plan --list-planners | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' >listed && [ -s listed ] || return
	while read -r planner; do
		"$ctl" plan --planner "$planner" -o planned.json "$small" || return
		python3 - "$planner" <<-'PYTHON' || return
		import json, sys, xml.dom.minidom
		page = xml.dom.minidom.parse("all.html")
		cells = [[c.firstChild.data if c.firstChild and c.firstChild.nodeType == 3 else "" for c in row.getElementsByTagName("td")]
		         for row in page.getElementsByTagName("tr") if row.getElementsByTagName("input")]
		plan = json.load(open("planned.json"))
		row = [r for r in cells if r[3] == sys.argv[1]]
		assert len(row) == 1, row
		assert row[0][4] == str(plan["arena"]), (row, plan["arena"])
		PYTHON
	done <listed
	[ "$(grep -c '<td><input type="radio" name="left"' all.html)" = "$(wc -l <listed)" ]
}
check 'a page of all planners' all_planners
refusals() {
	"$ctl" show --graph "$graphs/loop_conv.json" --html loops.html --planner all --planner shared-objects &&
		python3 - <<-'PYTHON'
		import xml.dom.minidom
		page = xml.dom.minidom.parse("loops.html")
		rows = {r.getElementsByTagName("td")[3].firstChild.data: r.getElementsByTagName("td")[4].firstChild.data
		        for r in page.getElementsByTagName("tr") if r.getAttribute("class") == "refused"}
		assert rows["shared-objects"] == "loop_conv: this planner plans no loops and branches", rows
		PYTHON
}
check 'a planner that refuses is a line with its reason' refusals
none_has() {
	"$ctl" show --graph "$graphs/loop_conv.json" --html none.html --planner shared-objects 2>said
	[ $? = 1 ] && grep -q ': no planner has a plan of it: loop_conv: this planner plans no loops' said
}
check 'none has a plan' none_has
check 'and nothing is written' test ! -e none.html
# A row of the CSV file for each placement of the plan JSON, with its offset, bytes and span.
rows_are() { # plan JSON, CSV file
	python3 - "$1" "$2" <<-'PYTHON'
		import csv, json, sys
		plan = json.load(open(sys.argv[1]))
		rows = list(csv.DictReader(open(sys.argv[2], newline="")))
		want = [(p["offset"], p["from"], p["to"]) for p in plan["placements"]]
		have = [(int(r["offset"]), int(r["from"]), int(r["to"])) for r in rows]
		assert have == want, (len(have), len(want))
		for r in rows:
		    assert int(r["offset"]) + int(r["bytes"]) <= int(r["end"]) <= plan["arena"], r
		    assert int(r["bytes"]) <= int(r["tensor_bytes"]), r
	PYTHON
}
tables() {
	"$ctl" show --graph "$graph" whole.json --table whole.txt --csv whole.csv --c-header whole.h &&
		"$ctl" show --graph "$graph" pieces.json --csv pieces.csv &&
		rows_are whole.json whole.csv && rows_are pieces.json pieces.csv &&
		[ "$(wc -l <whole.txt)" = "$(wc -l <whole.csv)" ] && grep -q ' output  *classifier' whole.txt
}
check 'a table: a row for each placement' tables
header_compiles() {
	arena=$(python3 -c 'import json; print(json.load(open("whole.json"))["arena"])')
	cat >uses.c <<-EOF
		#include "whole.h"
		#include "whole.h"
		_Static_assert(SQUEEZENET1_1_FUSED_ARENA_BYTES == $arena, "the plan's");
		_Static_assert(SQUEEZENET1_1_FUSED_T0_INPUT_OFFSET + SQUEEZENET1_1_FUSED_T0_INPUT_BYTES <= $arena, "inside");
	EOF
	grep -m 2 T0_ whole.h
	"${CC:-cc}" -Wall -Werror -fsyntax-only uses.c
}
check 'a C header: it compiles' header_compiles
# Each byte that a step reads is still there where the header says that it lies, if steps write
# only where it says: spans of pieces overlap where one takes the bytes of another row by row.
bytes_stay() { # graph, header, plan JSON, CSV file, rings
	python3 - "$@" <<-'PYTHON'
		import array, csv, itertools, json, re, sys

		text, plan = open(sys.argv[2]).read(), json.load(open(sys.argv[3]))
		tensors = {t["id"]: t for t in json.load(open(sys.argv[1]))["tensors"]}
		number = {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)u$", text, re.M)}
		arena = array.array("Q", [0]) * next(v for n, v in number.items() if n.endswith("_ARENA_BYTES"))
		heads = re.findall(r'from its byte (\d+) on, positions (\d+) to (\d+) \*/\n#define (\w+)_OFFSET ', text)
		rows = list(csv.DictReader(open(sys.argv[4], newline="")))
		assert len(heads) == len(rows) == len(plan["placements"]) and len(arena) == plan["arena"]
		pieces, chunked, rings = {}, 0, 0

		def chunks(at, byte, length, counts, strides, tensor_strides, ring):
		    for index in itertools.product(*map(range, counts)):
		        slots = index[:2] + (index[2] % ring,)
		        yield (byte + sum(i * s for i, s in zip(index, tensor_strides)),
		               at + sum(i * s for i, s in zip(slots, strides)), length)

		for (byte, start, end, name), row, placed in zip(heads, rows, plan["placements"]):
		    def of(what, default=None):
		        return number.get(f"{name}_{what}", default)
		    three = [[of(f"{what}_{d}", default) for d in range(3)]
		             for what, default in (("CHUNKS", 1), ("STRIDE", 0), ("TENSOR_STRIDE", 0))]
		    if of("BYTES") is not None:
		        assert of("CHUNK_BYTES") is None and of("RING") is None, name
		        assert of("OFFSET") + of("BYTES") == of("END"), name
		        lies = [(int(byte), of("OFFSET"), of("BYTES"))]
		    else:
		        lies = list(chunks(of("OFFSET"), of("TENSOR_BYTE"), of("CHUNK_BYTES"), *three, of("RING", three[0][2])))
		        assert len(lies) > 1, name
		        chunked += 1
		    assert of("RING", 0) == placed.get("ring", 0), name
		    rings += "ring" in placed
		    assert min(a for _, a, _ in lies) == of("OFFSET") == placed["offset"], name
		    assert max(a + n for _, a, n in lies) == of("END") <= len(arena), name
		    # The table says the same.
		    line = {k: int(v) for k, v in row.items() if v.isdigit()}
		    same = chunks(line["offset"], line["tensor_byte"], line["chunk"],
		                  *([line[f"{what}_{d}"] for d in range(3)] for what in ("count", "stride", "tensor_stride")),
		                  line["ring"] or line["count_2"])
		    assert list(same) == lies and line["end"] == of("END"), row
		    assert sum(n for _, _, n in lies) == line["bytes"], row
		    pieces.setdefault(placed["tensor"], []).append((int(start), int(end), lies))
		assert chunked and rings == int(sys.argv[5]), (chunked, rings)

		def span(tile):
		    t = tensors[tile["tensor"]]
		    first, count = tile.get("rows", (0, t["shape"][2]) if len(t["shape"]) == 4 else (0, 1))
		    high = t["shape"][2] if len(t["shape"]) == 4 else 1
		    return tile["tensor"], first * t["bytes"] // high, (first + count) * t["bytes"] // high

		def each(position, tensor, first, behind):
		    found = 0
		    for start, end, lies in pieces[tensor]:
		        for byte, address, length in lies if start <= position <= end else []:
		            low, high = max(byte, first), min(byte + length, behind)
		            if low < high:
		                found += high - low
		                value = array.array("Q", range(tensor << 32 | low, tensor << 32 | high))
		                yield slice(address + low - byte, address + high - byte), value
		    assert found == behind - first, (position, tensor, found)

		def write(*tile):
		    for where, value in each(*tile):
		        arena[where] = value

		def read(*tile):
		    for where, value in each(*tile):
		        assert arena[where] == value, (tile, where)

		ends = [t for t in tensors if t in pieces and tensors[t]["kind"] in ("input", "output")]
		for t in ends:
		    if tensors[t]["kind"] == "input":
		        write(0, t, 0, tensors[t]["bytes"])
		for position, step in enumerate(plan["schedule"]):
		    for tile in step["reads"]:
		        read(position, *span(tile))
		    for tile in step["writes"]:
		        write(position, *span(tile))
		for t in ends:
		    if tensors[t]["kind"] == "output":
		        read(len(plan["schedule"]) - 1, t, 0, tensors[t]["bytes"])
	PYTHON
}
header_is_true() { # planner, rings, a line of the table
	"$ctl" plan --planner "$1" --rows 8 -o true.json "$mobilenet" >/dev/null &&
		"$ctl" show --graph "$mobilenet" true.json --c-header true.h --csv true.csv --table true.txt &&
		printf '#include "true.h"\n' >true.c && "${CC:-cc}" -Wall -Werror -fsyntax-only true.c &&
		bytes_stay "$mobilenet" true.h true.json true.csv "$2" && grep -qE "$3" true.txt
}
check 'a C header: pieces in chunks' header_is_true tile-scheduled 0 \
	', from its byte [0-9]+ on, in chunks of [0-9]+: [0-9]+ every [0-9]+$'
check 'a C header: rings' header_is_true tile-scheduled-rings 4 \
	' features.1.conv.0.0.conv2d, in chunks of [0-9]+: 14 every [0-9]+, a ring of 1$'
# Names that would end a field, a line, or a comment.
hostile_names() {
	python3 - >odd.json <<-'PYTHON'
		import json
		name = 'a"b,*/\n#error "\x1b[2J /* '
		print(json.dumps({"name": "9 */ net",
		                  "tensors": [{"id": 0, "name": "x", "shape": [16], "bytes": 16, "kind": "input"},
		                              {"id": 1, "name": name, "shape": [16], "bytes": 16, "kind": "output"}],
		                  "ops": [{"id": 0, "name": name, "type": "relu", "inputs": [0], "outputs": [1]}]}))
	PYTHON
	"$ctl" plan -o odd.plan.json odd.json >/dev/null || return 1
	"$ctl" show --graph odd.json odd.plan.json --csv odd.csv --c-header odd.h --table odd.txt || return 1
	python3 -c '
import csv
rows = list(csv.DictReader(open("odd.csv", newline="")))
assert len(rows) == 2 and rows[1]["tensor"].startswith("a\"b,*/"), rows' || return 1
	! grep -q "$(printf '\033')" odd.csv odd.h odd.txt || return 1
	printf '#include "odd.h"\nint x[GRAPH_9____NET_ARENA_BYTES];\n' >odd.c
	"${CC:-cc}" -Wall -Werror -fsyntax-only odd.c
}
check 'names that would end a field or a comment' hostile_names
check 'a table of two plans' usage_has 'a table is of one PLAN' \
	"$ctl" show --graph "$graph" --html x --csv y taa.json taa.json
check 'two tables for standard output' usage_has '--csv - and --c-header - both want standard output' \
	"$ctl" show --graph "$graph" --csv - --c-header - taa.json
check 'two plans as text' usage_has 'two PLANs need --html or --svg' \
	"$ctl" show --graph "$graph" taa.json shared.json
check 'two files of one name' usage_has '--html x and --svg x are the same file' \
	"$ctl" show --graph "$graph" --html x --svg x taa.json

# How much of a screenshot is each of the colours that the picture's boxes have: all of
# those that cover much of the plan must be there, on a background that is not theirs.
drawn() { # png, page, background
	python3 - "$@" <<-'PYTHON'
	import collections, itertools, struct, sys, xml.dom.minidom, zlib

	data, at, pixels = open(sys.argv[1], "rb").read(), 8, b""
	while at < len(data):
	    length, kind = struct.unpack(">I4s", data[at:at + 8])
	    body = data[at + 8:at + 8 + length]
	    if kind == b"IHDR":
	        width, height, depth, colour = struct.unpack(">IIBB", body[:10])
	    elif kind == b"IDAT":
	        pixels += body
	    at += 12 + length
	assert depth == 8 and colour in (2, 6)
	size = 3 if colour == 2 else 4
	raw, row, before = zlib.decompress(pixels), bytearray(), bytearray(width * size)
	seen = collections.Counter()
	for y in range(height):
	    line = bytearray(raw[y * (width * size + 1) + 1:(y + 1) * (width * size + 1)])
	    how = raw[y * (width * size + 1)]
	    # Byte by byte is slow: what most lines are is made as a whole.
	    if how == 1:
	        for c in range(size):
	            line[c::size] = bytes(v & 255 for v in itertools.accumulate(line[c::size]))
	    elif how == 2:
	        line = bytearray((a + b) & 255 for a, b in zip(line, before)) if any(line) else before
	    for x in range(len(line) if how > 2 else 0):
	        left = line[x - size] if x >= size else 0
	        up, corner = before[x], before[x - size] if x >= size else 0
	        if how == 3:
	            line[x] = (line[x] + (left + up) // 2) & 255
	        elif how == 4:
	            guess = left + up - corner
	            best = min((left, up, corner), key=lambda v: abs(guess - v))
	            line[x] = (line[x] + best) & 255
	    before = line
	    seen.update(zip(line[0::size], line[1::size], line[2::size]))
	seen = collections.Counter({"#%02x%02x%02x" % colour: n for colour, n in seen.items()})
	assert seen.most_common(1)[0][0] == sys.argv[3], seen.most_common(3)
	area = collections.Counter()
	for box in xml.dom.minidom.parse(sys.argv[2]).getElementsByTagName("rect"):
	    if box.getAttribute("class").split()[:1] == ["tile"]:
	        area[box.parentNode.getAttribute("fill")] += (
	            float(box.getAttribute("width")) * float(box.getAttribute("height")))
	large = [colour for colour, size in area.items() if size > 2000]
	assert len(large) >= 5, area
	missing = [colour for colour in large if seen[colour] < area[colour] / 20]
	assert not missing, (missing, [(c, area[c], seen[c]) for c in missing])
	PYTHON
}

screenshot() { # png, page, options...
	png=$1 page=$2
	shift 2
	timeout 300 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
		--user-data-dir="$tmp/profile" --window-size=1400,1000 "$@" \
		--screenshot="$png" "file://$tmp/$page" && [ -s "$png" ]
}

# Tab reaches a tensor and the page says what it is; the theme changes; zooming does.
keys_work() {
	cat >driver.html <<-'HTML'
	<!DOCTYPE html><meta charset="utf-8"><title>driver</title><iframe id="f" src="one.html"></iframe>
	<pre id="said">nothing</pre><script>
	const f = document.getElementById('f');
	f.onload = () => {
	  const d = f.contentDocument, w = f.contentWindow, said = [];
	  const key = k => w.dispatchEvent(new w.KeyboardEvent('keydown', { key: k }));
	  const svg = d.querySelector('svg.view'), home = svg.getAttribute('viewBox');
	  const axes = d.querySelector('.axes'), ticks = axes.innerHTML;
	  const texts = (g, c) => [...d.querySelectorAll(g + ' text.' + c)].map(t => t.textContent);
	  const inside = () => [...axes.querySelectorAll('text')].every(t => {
	    const at = t.getBoundingClientRect(), all = d.querySelector('svg.plan').getBoundingClientRect();
	    return at.left >= all.left && at.right <= all.right && at.top >= all.top && at.bottom <= all.bottom;
	  });
	  key('n');
	  said.push('focus ' + d.activeElement.getAttribute('aria-label'));
	  d.activeElement.dispatchEvent(new w.FocusEvent('focusin', { bubbles: true }));
	  said.push('info ' + d.getElementById('info').textContent.split('\n')[0]);
	  key('+'); said.push('zoomed ' + (svg.getAttribute('viewBox') !== home));
	  said.push('names ' + (texts('.names', 'name').length > 0));
	  for (let i = 0; i < 9; i++) key('+');
	  said.push('ticks ' + [texts('.axes', 'x').length, texts('.axes', 'y').length].every(n => n > 2 && n < 15) +
	    (axes.innerHTML !== ticks) + inside());
	  key('0'); said.push('whole ' + (svg.getAttribute('viewBox') === home) + (axes.innerHTML === ticks));
	  const back = () => w.getComputedStyle(d.body).backgroundColor, was = back();
	  key('t'); said.push('theme ' + (back() !== was));
	  document.getElementById('said').textContent = said.join('; ');
	};
	</script>
	HTML
	timeout 300 "$browser" --headless --no-sandbox --disable-gpu --allow-file-access-from-files \
		--user-data-dir="$tmp/profile" --virtual-time-budget=5000 --dump-dom \
		"file://$tmp/driver.html" >dom && grep -q \
		'focus input; info input; zoomed true; names true; ticks truetruetrue; whole truetrue; theme true' dom
}

browser=$(command -v chromium || command -v chromium-browser || true)
if [ -n "$browser" ]; then
	check 'screenshot, light' screenshot light.png one.html
	check 'screenshot, light: the boxes are there' drawn light.png one.html '#ffffff'
	check 'screenshot, dark' screenshot dark.png one.html \
		--blink-settings=preferredColorScheme=0
	check 'screenshot, dark: the boxes are there' drawn dark.png one.html '#16181c'
	check 'keyboard' keys_work
else
	for what in 'screenshot, light' 'screenshot, light: the boxes are there' \
		'screenshot, dark' 'screenshot, dark: the boxes are there' keyboard; do
		skipped "$what" 'no chromium'
	done
fi
check_plan
