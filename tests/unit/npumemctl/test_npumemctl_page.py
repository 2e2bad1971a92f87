#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of npumemctl show --html in a browser: what it says once something is selected, found or
compared, beside what graph and plan say; with names that would break out of it, and of a large graph.

usage: test_npumemctl_page.py NPUMEMCTL GRAPHS

TAP. Without a browser all is skipped.
"""
import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

LIMIT = 300  # seconds: for hangs
CTL, GRAPHS = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
MOBILENET = GRAPHS + "/mobilenet_v2.fused.json"
DENSENET = GRAPHS + "/densenet121.fused.json"

# What scripts of tests say things with.
HELPERS = """
const errors = [];
addEventListener('error', e => errors.push(e.message));
const $ = s => document.querySelector(s), all = s => [...document.querySelectorAll(s)];
const text = s => { const e = $(s); return e ? e.textContent : null; };
const rows = s => all(s + ' tbody tr').map(r => [...r.cells].map(c => c.textContent));
const press = (key, on) => (on || document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const type = t => { findBox.value = t; findBox.dispatchEvent(new Event('input')); };
"""


def run(*words):
    subprocess.run([CTL, *words], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT)


def plan(graph, name, *options):
    run("plan", *options, "-o", name, graph)
    return json.load(open(name))


def show(graph, page, *plans):
    run("show", "--graph", graph, "--html", page, *plans)
    xml.dom.minidom.parse(page)


def ask(page, script, *, address=""):
    """The value that a script gives that runs in the page, after its own."""
    body = open(page, encoding="utf-8").read()
    said = ("const said = document.createElement('pre'); said.id = 'said';"
            "let value; try { value = (() => {" + script + "})(); } catch (e) { errors.push(String(e.stack)); }"
            "said.textContent = JSON.stringify({ value, errors }); document.body.append(said);")
    before, script_tag, after = body.rpartition("<script>//<![CDATA[")
    assert script_tag and after.endswith("</body>\n</html>\n")
    body = (before + "<script>//<![CDATA[\n" + HELPERS + "//]]></script>" + script_tag +
            after.replace("</body>\n</html>", "<script>//<![CDATA[\n" + said + "//]]></script></body>\n</html>"))
    with open("asked.html", "w", encoding="utf-8") as file:
        file.write(body)
    dom = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000",
                          "--user-data-dir=" + os.path.realpath("profile"), "--dump-dom",
                          "file://" + os.path.realpath("asked.html") + address],
                         check=True, capture_output=True, timeout=LIMIT).stdout.decode()
    found = re.search(r'<pre id="said">(.*?)</pre>', dom, re.S)
    assert found, dom[-2000:]
    said = json.loads(html.unescape(found.group(1)))
    assert not said["errors"], said["errors"]
    return said["value"]


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, expected {wanted!r}"


def names_of(graph):
    return {t["id"]: t["name"] for t in graph["tensors"]}


def size_text(n):
    unit = 0
    value = float(n)
    while value >= 1024 and unit < 4:
        value /= 1024
        unit += 1
    short = f"{value:.2f}".rstrip("0").rstrip(".") if unit else str(n)
    return f"{short} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}" + (f" ({n})" if n >= 1024 else "")


# ------------------------------------------------------------------------------- cases

def selected_step():
    """A step says its operator, attributes, tensors and bytes, and where they lie."""
    made, graph = plan(MOBILENET, "a.json", "--planner", "greedy"), json.load(open(MOBILENET))
    show(MOBILENET, "a.html", "a.json")
    got = ask("a.html", "return [text('#step-panel h3'), text('#step-panel'), rows('#step-panel section, #step-panel > table'),"
              "plans[0].mark.childElementCount, stepBox.value, all('#step-panel .steps').map(d => [...d.querySelectorAll('button')].map(b => b.textContent))];",
              address="#step=5")
    op = graph["ops"][5]
    tensors = {t["id"]: t for t in graph["tensors"]}
    at = {p["tensor"]: p["offset"] for p in made["placements"]}
    equal(got[0], f"step 5: {op['name']}")
    assert f"operator {op['type']} {op['name']}" in got[1], got[1]
    assert "attributes kernel 1 x 1, stride 1 x 1" in got[1], got[1]
    lines = []
    for word, t in [("reads", op["inputs"][0]), ("writes", op["outputs"][0])]:
        size = tensors[t]["bytes"]
        lines.append([word, tensors[t]["name"], size_text(size), "all", f"{at[t]} to {at[t] + size}"])
    equal(got[2], lines)
    equal(got[3:5], [1, "5"])
    made_by = [i for i, o in enumerate(graph["ops"]) if op["inputs"][0] in o["outputs"]]
    used_by = [i for i, o in enumerate(graph["ops"]) if op["outputs"][0] in o["inputs"]]
    equal(got[5], [[f"{i} {graph['ops'][i]['name']}" for i in made_by], [f"{i} {graph['ops'][i]['name']}" for i in used_by]])


def in_place():
    """A write is in place where the plan has it at its input's bytes; not where it only might be."""
    kinds = ["input", "activation", "activation", "output"]
    tensors = [{"id": i, "name": f"t{i}", "shape": [64], "bytes": 64, "kind": k} for i, k in enumerate(kinds)]
    # All may be in place. The first cannot, since its input is read once more; the last need not.
    ops = [{"id": i, "name": f"op{i}", "type": "add" if i == 1 else "relu", "inputs": [1, 0] if i == 1 else [i], "outputs": [i + 1],
            "attrs": {"inplace": True}} for i in range(3)]
    with open("in_place.json", "w") as file:
        json.dump({"name": "in_place", "tensors": tensors, "ops": ops}, file)
    made = plan("in_place.json", "in_place.plan.json", "--planner", "greedy")
    at = {p["tensor"]: p["offset"] for p in made["placements"]}
    assert at[1] == at[2], at
    assert at[0] != at[1] and at[2] != at[3], at
    show("in_place.json", "in_place.html", "in_place.plan.json")
    got = ask("in_place.html", "return [0, 1, 2].map(at => { goToStep(plans[0], at); return rows('#step-panel > table').map(r => r[0]); });")
    equal(got, [["reads", "writes"], ["reads", "reads", "writes, in place"], ["reads", "writes"]])


def finds():
    """What is typed finds tensors and steps; Enter selects the first and brings it into view."""
    graph = json.load(open(MOBILENET))
    wanted = next(t for t in graph["tensors"] if t["kind"] == "activation" and t["name"].startswith("features.9"))
    part = wanted["name"][:-1].upper()
    found = [t["name"] for t in graph["tensors"] if part.lower() in t["name"].lower()]
    got = ask("a.html", f"press('/'); const focused = document.activeElement === findBox; type({json.dumps(part)});"
              "const found = rows('#find-panel table').map(r => r[0]); press('Enter', findBox); const v = plans[0].view.slice();"
              "const box = plans[0].boxes[plans[0].chosen[0]];"
              "const seen = box[1] >= v[0] && box[2] >= v[1] && box[1] + box[3] <= v[0] + v[2] && box[2] + box[4] <= v[1] + v[3];"
              "const one = [focused, found, text('#tensor-panel h3'), seen, v[2] < W, all('.tensor.chosen').length];"
              "type('no such name'); one.push(text('#find-panel h3')); press('Escape', findBox);"
              "one.push(drawer.childElementCount, all('.tensor.chosen').length); return one;")
    equal(got[0], True)
    equal(got[1], found)
    equal(got[2:6], ["tensor " + wanted["name"], True, True, 1])
    equal(got[6:], ["found: 0 tensors, 0 steps", 0, 0])


def tensor_tells():
    """A tensor says its size, where it lies, and which steps make and use it."""
    made, graph = json.load(open("a.json")), json.load(open(MOBILENET))
    place = made["placements"][7]
    tensor = next(t for t in graph["tensors"] if t["id"] == place["tensor"])
    name = tensor["name"]
    got = ask("a.html", "return [text('#tensor-panel'), rows('#tensor-panel')];", address="#tensor=" + name)
    assert size_text(tensor["bytes"]) in got[0], got[0]
    assert " x ".join(map(str, tensor["shape"])) in got[0], got[0]
    step = [o["name"] for o in graph["ops"]]
    spans = [f"{place[k]} {step[place[k]]}" for k in ("from", "to")]
    uses = [["writes", f"{i} {step[i]}"] for i, o in enumerate(graph["ops"]) if tensor["id"] in o["outputs"]]
    uses += [["reads", f"{i} {step[i]}"] for i, o in enumerate(graph["ops"]) if tensor["id"] in o["inputs"]]
    equal(got[1], [[str(place["offset"]), str(place["offset"] + tensor["bytes"]), *spans], *uses])


def loops():
    """Around a loop: a step's neighbours are those by which a value can come, and go, on some way through the blocks."""
    nested = GRAPHS + "/loop_nested.json"
    made = plan(nested, "nested.json")
    show(nested, "nested.html", "nested.json")
    got, data = ask("nested.html", "return [plans[0].positions.map((of, at) => { goToStep(plans[0], at);"
                    "return all('#step-panel .steps').map(d => [...d.querySelectorAll('button')].map(b => parseInt(b.textContent))); }), DATA];")
    # Convolutions read what the one before made, of either instance; add3 reads what step 1 made, too.
    equal([got[1], got[3]], [[[0, 3], [3, 4]], [[1], [1, 2]]])
    # Ways at random: what a step reads has been made by the step that says so.
    graph, blocks, first = data["graphs"][0], [], 0
    for block in made["blocks"]:
        blocks.append(range(first, first + block["positions"]))
        first += block["positions"]
    seen, rng = [[set(), set()] for _ in made["schedule"]], random.Random(1)
    for _ in range(300):
        maker, at = {}, 0
        while at is not None:
            for position in blocks[at]:
                accesses = graph["steps"][data["plans"][0]["positions"][3 * position + 1]]["accesses"]
                for access in accesses:
                    if access["mode"] & 1 and access["tensor"] in maker:
                        seen[position][0].add(maker[access["tensor"]])
                        seen[maker[access["tensor"]]][1].add(position)
                maker.update((access["tensor"], position) for access in accesses if access["mode"] & 2)
            edge = rng.choice(made["blocks"][at]["edges"])
            carries, old = graph["edges"][edge["edge"]], dict(maker)
            for source, to in zip(carries[::2], carries[1::2]):
                maker.pop(to, None)
                if source in old:
                    maker[to] = old[source]
            at = edge.get("to")
    equal(got, [[sorted(s) for s in both] for both in seen])
    assert any(s >= at for at, both in enumerate(seen) for s in both[0]), seen


def moved():
    """Two plans: each tensor that lies elsewhere is listed, and no other."""
    one, other = plan(DENSENET, "one.json", "--planner", "greedy-size"), plan(DENSENET, "other.json", "--planner", "greedy-start")
    show(DENSENET, "two.html", "one.json", "other.json")
    names = names_of(json.load(open(DENSENET)))
    at = [{p["tensor"]: (p["offset"], p["from"], p["to"]) for p in x["placements"]} for x in (one, other)]
    differ = {names[t]: [f"{at[0][t][0]}", f"{at[1][t][0]}"] for t in at[0] if at[0][t] != at[1][t]}
    assert differ and len(differ) < len(at[0]), (len(differ), len(at[0]))
    got = ask("two.html", "const before = $('#moved-panel') === null; press('d'); const list = rows('#moved-panel');"
              "const one = [before, text('#moved-panel h3'), list, plans.map(p => p.svg.querySelectorAll('.tensor.moved').length), text('#moved-panel p'),"
              "$('#changes').getAttribute('aria-pressed'), movedTensors(plans[0], plans[1]).length];"
              "press('d'); one.push($('#moved-panel') === null, all('.tensor.moved').length); return one;")
    equal(got[0:2], [True, f"{len(differ)} tensors moved"])
    equal({r[0]: r[3:5] for r in got[2]}, dict(list(differ.items())) if len(differ) <= 200 else {r[0]: differ[r[0]] for r in got[2]})
    equal(got[3], [len(differ)] * 2)
    assert "the order of the steps is the same" in got[4], got[4]
    assert size_text(one["arena"]) + " left, " + size_text(other["arena"]) + " right" in got[4], got[4]
    equal(got[5:], ["true", len(differ), True, 0])


def other_order():
    """Plans that are cut and ordered differently: the same step is marked in both, if both have it."""
    made = plan(DENSENET, "spills.json", "--planner", "cosma", "--budget", "MR")
    show(DENSENET, "orders.html", "one.json", "spills.json")
    steps = [p for p in made["schedule"]]
    at = next(i for i, p in enumerate(steps) if isinstance(p, dict) and "spill" in p)
    got = ask("orders.html", "goToStep(plans[0], 30); const mine = [plans[0].at, plans[1].at];"
              "const names = [positionName(plans[0], plans[0].at), positionName(plans[1], plans[1].at)];"
              f"goToStep(plans[1], {at}); return [mine, names, plans[0].at, text('#step-panel h3'), text('#step-panel')];")
    equal(got[0][0], 30)
    assert got[0][1] > 30, got
    equal(got[1][0], got[1][1])
    equal(got[2], -1)
    assert got[3].startswith(f"step {at}: spill "), got[3]
    assert "in the other plan there is none" in got[4], got[4]


def shifted():
    """The same order with transfers in it: what lies where it lay, from the same step to the same, has not moved."""
    at = 100
    got = ask("two.html", "const a = plans[0]; const old = movedTensors(a, a).length;"
              # A copy of the plan, whose positions all come one later.
              "const late = { ...a, positions: [{ kind: 4, index: 0, moved: 0 }, ...a.positions], places: a.places.map(x => ({ ...x, from: x.from + 1, to: x.to + 1 })) };"
              f"const same = movedTensors(a, late).length; late.places[{at}] = {{ ...late.places[{at}], to: late.places[{at}].to + 1 }};"
              f"const longer = movedTensors(a, late); late.places[{at}].first += 64;"
              "return [old, same, longer.map(m => m.what), movedTensors(a, late).map(m => m.what), reordered(a, late).differ];")
    equal(got, [0, 0, ["time"], ["place and time"], 0])


def timeline():
    """As many bytes live as the plan says at its peak; a bar for each transfer, none for drops."""
    made = json.load(open("spills.json"))
    show(DENSENET, "spills.html", "spills.json")
    got = ask("spills.html", "const p = plans[0]; const kinds = {};"
              "for (const k of ['load', 'spill', 'fill', 'store', 'drop']) kinds[k] = p.timeline.querySelectorAll('.' + k).length;"
              "const live = p.timeline.querySelector('.live').getAttribute('d');"
              "for (let i = 0; i < 6; i++) press('+'); const near = p.timeline.querySelector('.live').getAttribute('d');"
              "press('0'); return [kinds, Math.max(...p.data.live), live !== near, live === p.timeline.querySelector('.live').getAttribute('d'),"
              "all('.timeline .y').map(t => t.textContent)];")
    kinds = [k for p in made["schedule"] if isinstance(p, dict) for k in ("load", "spill", "fill", "store") if k in p]
    for kind in ("load", "spill", "fill", "store"):
        equal((kind, got[0][kind]), (kind, kinds.count(kind)))
    assert got[0]["spill"] and got[0]["fill"], got
    equal(got[0]["drop"], 0)
    page = open("spills.html", encoding="utf-8").read()
    equal(got[1], int(re.search(r"<p>(\d+) bytes live at step", page).group(1)))
    equal(got[2:4], [True, True])
    equal(got[4][0], size_text(made["arena"]).split(" (")[0])


def keyboard():
    """All of it without a pointer: next tensor, its selection, steps, and typing is typing."""
    got = ask("a.html", "press('n'); press('n'); press('Enter', document.activeElement); const one = [text('#tensor-panel h3')];"
              "press('.'); press('.'); one.push(text('#step-panel h3').split(':')[0]); press(','); one.push(text('#step-panel h3').split(':')[0]);"
              "findBox.focus(); press('t', findBox); press('m', findBox); one.push(root.className.includes('dark') || root.className.includes('peak-only'));"
              "press('m'); one.push($('#peak').getAttribute('aria-pressed')); press('Escape'); one.push(drawer.childElementCount);"
              "stepBox.value = '9'; stepBox.dispatchEvent(new Event('change')); one.push(text('#step-panel h3').split(':')[0]);"
              "stepBox.value = '-1'; stepBox.dispatchEvent(new Event('change')); one.push(stepBox.value);"
              "one.push(all('.tensor').every(t => t.tabIndex === -1), plans[0].svg.getAttribute('tabindex')); return one;")
    second = ask("a.html", "return plans[0].boxes[1][0];")
    equal(got, ["tensor " + second, "step 1", "step 0", False, "true", 0, "step 9", "9", True, "0"])


def pointer():
    """A click selects the tensor and the step under it; a drag moves, and selects nothing."""
    got = ask("a.html", "const p = plans[0], r = p.tensors[3].querySelector('rect.tile'), b = r.getBoundingClientRect();"
              "const at = { clientX: b.x + b.width / 2, clientY: b.y + b.height / 2, bubbles: true };"
              "const go = (name, more) => r.dispatchEvent(new PointerEvent(name, { ...at, ...more }));"
              "go('pointerdown'); go('pointerup'); const place = p.places[3];"
              "const one = [selected.tensor === place.tensor, selected.step >= place.from && selected.step <= place.to];"
              "press('Escape'); for (let i = 0; i < 4; i++) press('+'); const was = p.view.join();"
              "go('pointerdown'); go('pointermove', { clientX: at.clientX + 40 }); go('pointerup', { clientX: at.clientX + 40 });"
              "one.push(p.view.join() !== was, selected.step);"
              "press('0'); press(']'); one.push(p.view[2] < W, p.view[3] === H); press('['); one.push(p.view.join() === [X, Y, W, H].join()); return one;")
    equal(got, [True, True, True, -1, True, True, True])


HOSTILE = ["</script><script>document.title='broken'</script>", "\"'><img src=x onerror=\"document.title='broken'\">",
           "]]><b>&amp;&lt;", "line\nbreak\ttab", "\u202eabc\u2066\u200f", "\u2028\u2029", "\\u0041\\", "<!--", "\x1b[2J", "\ufffe",
           "", "a" * 5000, "\u05d0\u05d1 \U0001f600", "__proto__"]


def hostile():
    """Names that end strings, elements or lines stay names; nothing runs, and the text keeps its direction."""
    tensors = [{"id": i, "name": n, "shape": [64], "bytes": 64, "kind": "activation"} for i, n in enumerate(HOSTILE)]
    tensors[0]["kind"], tensors[-1]["kind"] = "input", "output"
    ops = [{"id": i, "name": HOSTILE[i], "type": "</script>\u202e" + HOSTILE[i][:40] or "relu", "inputs": [i], "outputs": [i + 1]}
           for i in range(len(HOSTILE) - 1)]
    with open("hostile.json", "w") as file:
        json.dump({"name": "</title><script>document.title='broken'</script>\u202e", "tensors": tensors, "ops": ops}, file)
    plan("hostile.json", "<h2>\u202e.json", "--planner", "greedy-size")
    plan("hostile.json", "plain.json", "--planner", "greedy-start")
    show("hostile.json", "hostile.html", "<h2>\u202e.json", "plain.json")
    marks = re.compile("[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
    body = open("hostile.html", encoding="utf-8").read()
    assert not marks.search(body), marks.search(body)
    got = ask("hostile.html", "const seen = []; for (let i = 0; i < plans[0].steps; i++) { goToStep(plans[0], i); seen.push(text('#step-panel h3')); }"
              "plans[0].graph.tensors.forEach((t, i) => { select(plans[0], i, -2); lookAtTensor(); seen.push(text('#tensor-panel h3')); });"
              "type('<' + '/script>'); seen.push(rows('#find-panel table')[0][0]); press('Enter', findBox); press('d'); press('m');"
              "return [seen, document.title, all('img, b[onerror], main script').length, all('script').length, plans[0].graph.tensors.map(t => t.name)];")
    equal(got[1], "</title><script>document.title='broken'</script>\\xe2\\x80\\xae: memory plan")
    equal(got[2:4], [0, 4])
    for i, name in enumerate(HOSTILE):
        plain = "".join("".join(f"\\x{b:02x}" for b in c.encode()) if marks.match(c) or c in "\n\t" else c for c in name)
        equal(got[4][i], plain or f"tensor {i}")
        equal(got[0][len(ops) + i], "tensor " + (plain or f"tensor {i}"))
    equal(got[0][0], "step 0: " + HOSTILE[0])
    equal(got[0][-1], HOSTILE[0])


def large():
    """10,000 tensors: lists are cut, what is drawn of the timeline is no more than can be seen."""
    n = 10000
    tensors = [{"id": i, "name": f"layer.{i}.out", "shape": [64 + i % 7], "bytes": 64 + i % 7, "kind": "activation"} for i in range(n)]
    tensors[0]["kind"], tensors[-1]["kind"] = "input", "output"
    ops = [{"id": i, "name": f"layer.{i}", "type": "add", "inputs": [i] if i % 50 else [i, max(0, i - 40)], "outputs": [i + 1]} for i in range(n - 1)]
    with open("large.json", "w") as file:
        json.dump({"name": "large", "tensors": tensors, "ops": ops}, file)
    plan("large.json", "large.plan.json", "--planner", "greedy-size")
    plan("large.json", "large2.plan.json", "--planner", "greedy-start")
    show("large.json", "large.html", "large.plan.json", "large2.plan.json")
    got = ask("large.html", "const path = () => Math.max(...plans.map(p => p.timeline.querySelector('.live').getAttribute('d').split('L').length));"
              "const one = [path()]; type('layer.'); one.push(text('#find-panel h3'), rows('#find-panel').length);"
              "type('layer.5000.out'); press('Enter', findBox); one.push(text('#tensor-panel h3'), plans[0].view[2] < W / 20);"
              "for (let i = 0; i < 20; i++) press('.'); press('d'); one.push(rows('#moved-panel').length <= 200, path()); press('0');"
              "one.push(all('.names text').length < 2000); return one;")
    assert got[0] <= 447 and got[6] <= 447, got
    equal(got[1:4], ["found: 10000 tensors, 9999 steps", 400, "tensor layer.5000.out"])
    equal([got[4], got[5], got[7]], [True, True, True])


def table_of_plans():
    """Of many plans a table says what each needs, and which two are drawn; who is chosen is drawn, and compared."""
    quick = ["size", "duration", "peers", "breadth", "start", "area", "conflicts"]
    run("show", "--graph", DENSENET, "--html", "table.html", *[f"--planner=greedy-{order}" for order in quick],
        "--planner=nnc", "one.json", "spills.json")
    xml.dom.minidom.parse("table.html")
    one, spills = json.load(open("one.json")), json.load(open("spills.json"))
    got = ask("table.html", "const drawn = () => plans.map((p, i) => p.section.hidden ? -1 : i).filter(i => i >= 0);"
              "const pick = (side, at) => { const c = choices.find(c => c.name === side && c.value === String(at)); c.checked = true; c.dispatchEvent(new Event('change')); };"
              "const one = [rows('#plans'), drawn(), all('#plans .drawn').length];"
              "goToStep(plans[0], 30); pick('left', 2); one.push(drawn(), selected.plan === plans[2], text('#step-panel h3'));"
              "pick('right', 5); one.push(drawn(), shown().map(p => p.data.planner), selected.plan === plans[2], text('#step-panel h3'));"
              "press('d'); one.push(text('#moved-panel h3') === count(movedTensors(plans[2], plans[5]).length, 'tensor') + ' moved');"
              "pick('left', 7); one.push(shown().map(p => p.data.planner), text('#moved-panel h3') === count(movedTensors(plans[7], plans[5]).length, 'tensor') + ' moved');"
              "pick('right', 7); one.push(drawn(), $('#moved-panel') === null, $('#changes').hidden); return one;")
    table = got[0]
    equal(table[0][2:7], ["one.json", "greedy-size", str(one["arena"]), str(one["lower_bound"]), f"{one['arena'] / one['lower_bound']:.3f}"])
    moved = sum(sum(v for k, v in p.items() if k == "length") for p in spills["schedule"] if isinstance(p, dict) and "drop" not in p)
    equal(table[1][2:5] + [int(table[1][7])], ["spills.json", "cosma", str(spills["arena"]), moved])
    equal(got[1:3], [[0, 1], 2])
    names = [r[3] for r in table]
    equal(got[3:6], [[1, 2], True, got[5]])
    equal(got[6:9], [[2, 5], [names[2], names[5]], True])
    equal(got[9].split(":")[0], "step 30")
    equal(got[10:], [True, [names[7], names[5]], True, [7], True, True])
    got = ask("table.html", "return [shown().map(p => plans.indexOf(p)), text('#step-panel h3').split(':')[0], choices.filter(c => c.checked).map(c => [c.name, c.value])];",
              address="#left=9&right=4&step=3")
    equal(got, [[8, 3], "step 3", [["right", "3"], ["left", "8"]]])
    equal(ask("two.html", "return [choices.length, $('#plans') === null];"), [0, True])


CASES = [selected_step, in_place, finds, tensor_tells, loops, moved, other_order, shifted, timeline, keyboard, pointer, hostile, large, table_of_plans]


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    failed = 0
    for number, case in enumerate(CASES, 1):
        what = case.__doc__.split(":")[0].split(";")[0].splitlines()[0].rstrip(".")
        if not BROWSER:
            print(f"ok {number} - {what} # SKIP no chromium")
            continue
        try:
            case()
            print(f"ok {number} - {what}", flush=True)
        except (AssertionError, subprocess.SubprocessError, ValueError, StopIteration) as error:
            failed += 1
            print(f"not ok {number} - {what}")
            for line in f"{type(error).__name__}: {error}".splitlines():
                print("# " + line)
    print(f"1..{len(CASES)}")
    shutil.rmtree(folder)
    return failed > 0


sys.exit(main())
