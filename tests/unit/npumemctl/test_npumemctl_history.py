#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""npumemctl history: recordings drawn, beside what they say; in a browser, if there is one; and each
line that is refused.

usage: test_npumemctl_history.py NPUMEMCTL RECORDINGS

TAP.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

LIMIT = 300  # seconds: for hangs
LINE = 1 << 20  # most bytes of a line
CTL, RECORDINGS = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
TOP, MONITOR = RECORDINGS + "/top.txt", RECORDINGS + "/monitor.txt"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
BAND = 0.05  # of what is drawn: hundredths of a unit, on either side


def history(*words, text=None):
    return subprocess.run([CTL, "history", *words], input=text, capture_output=True, text=True, timeout=LIMIT)


def drawn(*words, text=None, warned=""):
    done = history(*words, text=text)
    equal((done.returncode, done.stderr), (0, warned))
    return done.stdout


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, expected {wanted!r}"


def samples():
    return [json.loads(line) for line in open(TOP)]


def bands(picture):
    """Of carveout and jobs: the boxes of each band, as (left, right, bottom, top), by its title."""
    found = []
    for group in picture.getElementsByTagName("g"):
        if group.getAttribute("class") != "band":
            continue
        path = group.getElementsByTagName("path")[0]
        boxes = re.findall(r"M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)V([\d.]+)Z", path.getAttribute("d"))
        assert "".join(f"M{a} {b}V{c}H{d}V{e}Z" for a, b, c, d, e in boxes) == path.getAttribute("d")
        found.append((path.getElementsByTagName("title")[0].firstChild.data,
                      [(float(a), float(d), float(b), float(c)) for a, b, c, d, _ in boxes]))
    return found


def area():
    """The band of each client has the height that it held, at each time."""
    picture = xml.dom.minidom.parseString(drawn("--svg", "-", TOP))
    found = bands(picture)
    names = ["<transcriber> (pid 412)", "detector (pid 410)", "clients not to be seen by who recorded it"]
    equal([name for name, _ in found], names * 2)
    frames = [r for r in picture.getElementsByTagName("rect") if r.getAttribute("class") == "plot"]
    height, left, width = (float(frames[0].getAttribute(k)) for k in ("height", "x", "width"))
    taken = samples()
    begin, end = taken[0]["time"] - taken[0]["seconds"], taken[-1]["time"]
    size = sum(b["size"] for b in taken[0]["banks"])
    for sample in taken:
        x = left + width * (sample["time"] - sample["seconds"] / 2 - begin) / (end - begin)
        held = {c["command"]: c["carveout"] for c in sample["clients"]}
        free = sum(b["free"] for b in sample["banks"])
        held = [held.get("<transcriber>", 0), held.get("detector", 0), size - free - sum(held.values())]
        for (name, boxes), wanted in zip(found, held):
            got = [low - high for a, b, low, high in boxes if a <= x <= b]
            assert len(got) <= 1, (name, x, boxes)
            got = got[0] if got else 0
            assert abs(got - height * wanted / size) < BAND, (name, sample["time"], got, height * wanted / size)


def order():
    """The order of files, and of their lines, does not matter; nor does who draws: bytes are the same."""
    once = drawn("--svg", "-", TOP, MONITOR)
    assert once == drawn("--svg", "-", MONITOR, TOP)
    lines = open(TOP).read().splitlines() + open(MONITOR).read().splitlines()
    assert once == drawn("--svg", "-", "-", text="\n\n".join(lines))
    done = history("--svg", "-", "-", text="\n\n".join(reversed(lines)))
    equal((done.returncode, done.stdout), (0, once))
    drawn("--svg", "a.svg", "--html", "a.html", TOP, MONITOR)
    assert once == open("a.svg").read()
    xml.dom.minidom.parse("a.html")
    assert once != drawn("--svg", "-", TOP)


def marks():
    """A mark for each refusal; two that cannot be told apart have one; of other devices there is none."""
    picture = xml.dom.minidom.parseString(drawn("--svg", "-", TOP, MONITOR))
    said = {}
    for group in picture.getElementsByTagName("g"):
        kind = group.getAttribute("class")
        if kind.startswith("marks "):
            said[kind[6:]] = [t.firstChild.data for t in group.getElementsByTagName("title")]
    equal(said, {
        "plan-refused": ["2.000 s, plan refused: pid 410 (detector): V4 write: step 3 'conv & pool' writes tensor 5 'a<b' "
                         "to bytes [0, 64) of the arena, where tensor 2 lives"],
        "job-refused": ["4.625 s, job refused: pid 412 (<transcriber>): read of a tile that is not live: "
                        "step 2 'mix', tensor 4 'b'\nand 1 more"],
        "job-failed": ["10.250 s, job failed: job failed"]})
    note = [t.firstChild.data for t in picture.getElementsByTagName("text") if t.getAttribute("class") == "note"]
    equal(note[-1], "12.000 s, 24 samples, 2 clients, 4 refusals and failures, 1 more of other devices")


def many():
    """More times than can be told apart: the fullest of them is drawn. More clients than have colours share one."""
    sample, lines = samples()[0], []
    for i in range(5000):
        clients = [{"client": c, "pid": c, "uid": 0, "command": f"c{c}", "carveout": 1000 * (20 - c) + (1 << 20) * (i == 2500 and c == 0),
                    "jobs_per_second": 1.0} for c in range(20)]
        used = sum(c["carveout"] for c in clients)
        sample = {**sample, "time": 1000 + i / 1000, "seconds": 0.001, "clients": clients,
                  "banks": [{"size": 1 << 21, "free": (1 << 21) - used}]}
        lines.append(json.dumps(sample))
    picture = drawn("--svg", "-", "-", text="\n".join(lines))
    assert len(picture) < 60000, len(picture)
    found = bands(xml.dom.minidom.parseString(picture))
    equal(len(found), 28)
    equal([found[i][0] for i in (0, 11, 12)], ["c0 (closed)", "c11 (pid 11)", "8 more clients"])
    highest = max(low - high for _, _, low, high in found[0][1])
    assert abs(highest - 300 * ((1 << 20) + 20000) / (1 << 21)) < BAND, highest


def gap():
    """While nobody recorded nothing is drawn; a single sample is a picture, too."""
    taken = samples()[8:10]
    taken[1]["time"] += 10
    found = bands(xml.dom.minidom.parseString(drawn("--svg", "-", "-", text="\n".join(map(json.dumps, taken)))))
    equal(len(found[0][1]), 2)
    (_, right, _, _), (left, _, _, _) = found[0][1]
    assert left - right > 800, found[0]
    equal(len(bands(xml.dom.minidom.parseString(drawn("--svg", "-", "-", text=json.dumps(taken[0]))))[0][1]), 1)


def jump():
    """A time beside which nothing else could be seen is drawn shortened, and said; ticks begin anew behind it."""
    said = ("npumemctl: history: warning: nothing was recorded for {:.3f} s, or the clock was set forward by so much; "
            "this is drawn shortened\n")
    taken = samples()[8:12]
    for i, sample in enumerate(taken):
        sample["time"] = 100 + i * sample["seconds"]
    length = taken[0]["seconds"]
    rest = length * len(taken)
    # As long as ten times the rest, and a millisecond more.
    for pause, cut in ((10 * rest, 0), (10 * rest + .01, 1), (1.7e9, 1)):
        late = [{**sample, "time": sample["time"] + (pause if i > 1 else 0)} for i, sample in enumerate(taken)]
        text = "\n".join(map(json.dumps, late))
        svg = drawn("--svg", "-", "-", text=text, warned=said.format(pause) if cut else "")
        picture = xml.dom.minidom.parseString(svg)
        boxes = bands(picture)[0][1]
        (begin, _, _, _), (_, end, _, _) = boxes[0], boxes[-1]
        seen = sum(right - left for left, right, _, _ in boxes)
        assert (seen > 890 * .9) if cut else (seen < 890 / 10), (pause, boxes)
        equal((round(begin), round(end)), (90, 980))
        breaks = [p for p in picture.getElementsByTagName("path") if p.getAttribute("class") == "break"]
        equal(len(breaks), cut)
        axes = next(g for g in picture.getElementsByTagName("g") if g.getAttribute("class") == "axes")
        ticks = [t.firstChild.data for t in axes.getElementsByTagName("text")]
        equal((pause, ticks.count("0.0") + ticks.count("0")), (pause, 1 + cut))
        notes = [t.firstChild.data for t in picture.getElementsByTagName("text") if t.getAttribute("class") == "note"]
        equal([note for note in notes if note.startswith("from ")],
              ["from 2023-11-14 22:15:00 UTC" if pause > 1e9 else "from 1970-01-01 00:02:00 UTC"] * cut)
    # Two of them, of which the longer one would hide the other; and a refusal in the midst is no pause.
    late = [{**sample, "time": sample["time"] + (0, 1000, 1e9, 1e9)[i]} for i, sample in enumerate(taken)]
    text = "\n".join(map(json.dumps, late))
    drawn("--svg", "-", "-", text=text, warned=said.format(1000) + said.format(1e9 - 1000))
    event = {**json.loads(open(MONITOR).readline()), "time": 500}
    drawn("--svg", "-", "-", text=text + "\n" + json.dumps(event), warned=said.format(1e9 - 1000))


def boots():
    """A number that another client has after a boot is another client; a process that goes on is one."""
    def at(time, **client):
        client = {"client": 4, "uid": 0, "carveout": 1 << 20, "jobs_per_second": 1.0, **client}
        return json.dumps({**samples()[0], "time": time, "seconds": 1, "clients": [client]})

    lines = [at(100, pid=810, command="camera"), at(101, pid=810, command="camera"), at(102, pid=0, command=""),
             at(150, pid=388, command="transcriber", carveout=2 << 20), at(151, pid=388, command="renamed"),
             at(152, pid=389, command="renamed"), at(153, pid=400, command="camera")]
    once = drawn("--html", "-", "-", text="\n".join(lines))
    found = [name for name, _ in bands(xml.dom.minidom.parseString(once))]
    equal(found[:3], ["renamed (pid 389)", "camera (pid 400)", "clients not to be seen by who recorded it"])
    equal(re.findall(r'<td class="number">4</td><td class="number">(\d+)</td>', once), ["389", "400"])
    done = history("--html", "-", "-", text="\n".join(reversed(lines)))
    equal((done.returncode, done.stdout), (0, once))
    # Two boots of a board without a clock, seen in turn.
    lines = [at(100 + i, pid=810 + i % 2, command=("camera", "detector")[i % 2]) for i in range(40)]
    found = [name for name, _ in bands(xml.dom.minidom.parseString(drawn("--svg", "-", "-", text="\n".join(lines))))]
    equal(found[:3], ["camera (pid 810)", "detector (pid 811)", "clients not to be seen by who recorded it"])


def spoiled(what, *path):
    """The first sample that has a client, or the first event, with another value somewhere; None: without it."""
    line = json.loads(open(MONITOR).readline()) if path[0] == "event of" else samples()[8]
    path = path[path[0] == "event of":]
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    if what is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = what
    return json.dumps(line)


BYTES = 1 << 53
REFUSED = [
    ("{}", "neither of npumemctl top -j nor of npumemctl monitor -j"),
    ("[1]", "neither of npumemctl top -j nor of npumemctl monitor -j"),
    (spoiled(-1, "time"), "time is no number from 0 to 1e+10"),
    (spoiled(2e10, "time"), "time is no number from 0 to 1e+10"),
    (spoiled(None, "time"), "time is no number from 0 to 1e+10"),
    (spoiled(0, "seconds"), "seconds is no number from 0.0001 to 1e+06"),
    (spoiled("x", "seconds"), "seconds is no number from 0.0001 to 1e+06"),
    (spoiled(None, "path"), "path is no text"),
    (spoiled("/dev/accel/accel1", "path"), "it is of device /dev/accel/accel1, what is above of /dev/accel/accel0"),
    (spoiled(3, "banks"), "banks is no list"),
    (spoiled("x", "banks", 0), f"banks[0].size is no whole number from 0 to {BYTES}"),
    (spoiled(-1, "banks", 1, "size"), f"banks[1].size is no whole number from 0 to {BYTES - (48 << 20)}"),
    (spoiled(BYTES, "banks", 1, "size"), f"banks[1].size is no whole number from 0 to {BYTES - (48 << 20)}"),
    (spoiled((48 << 20) + 1, "banks", 0, "free"), f"banks[0].free is no whole number from 0 to {48 << 20}"),
    (spoiled(None, "clients"), "clients is no list"),
    (spoiled(1.5, "clients", 1, "client"), f"clients[1].client is no whole number from 0 to {(1 << 63) - 1}"),
    (spoiled(-1, "clients", 0, "pid"), f"clients[0].pid is no whole number from 0 to {(1 << 31) - 1}"),
    (spoiled(-2, "clients", 0, "uid"), f"clients[0].uid is no whole number from -1 to {(1 << 32) - 1}"),
    (spoiled(7, "clients", 0, "command"), "clients[0].command is no text"),
    (spoiled(BYTES + 1, "clients", 0, "carveout"), f"clients[0].carveout is no whole number from 0 to {BYTES}"),
    (spoiled(BYTES, "clients", 1, "carveout"), f"clients[1].carveout is no whole number from 0 to {BYTES - (12 << 20)}"),
    (spoiled("x", "clients", 0, "jobs_per_second"), "clients[0].jobs_per_second is no number from 0 to 1e+09"),
    (spoiled(-1, "clients", 0, "jobs_per_second"), "clients[0].jobs_per_second is no number from 0 to 1e+09"),
    (spoiled(4, "clients", 0, "client"), "client 4 is there twice"),
    (spoiled("turn", "event of", "event"), 'event is neither "plan" nor "job"'),
    (spoiled("x", "event of", "time"), "time is no number from 0 to 1e+10"),
    (spoiled(-1, "event of", "device"), f"device is no whole number from 0 to {(1 << 32) - 1}"),
    (spoiled(None, "event of", "pid"), f"pid is no whole number from 0 to {(1 << 31) - 1}"),
    (spoiled(None, "event of", "command"), "command is no text"),
    (spoiled(None, "event of", "rule"), "rule is no text"),
    (spoiled(None, "event of", "message"), "message is no text"),
]


def refused():
    """Each line that is wrong is refused, with its number and what is wrong; nothing is written."""
    first = open(TOP).readline()
    for line, why in REFUSED:
        done = history("--svg", "refused.svg", "-", text=first + "\n" + line + "\n")
        equal((line, done.returncode, done.stderr), (line, 1, f"npumemctl: standard input: line 3: {why}\n"))
        assert not os.path.exists("refused.svg")
    done = history("--svg", "-", "-", text=spoiled(None, "device"))
    equal(done.stderr, f"npumemctl: standard input: line 1: device is no whole number from 0 to {(1 << 32) - 1}\n")
    with open("broken.txt", "w") as file:
        file.write(first[:100] + "\n")
    done = history("--svg", "-", "broken.txt")
    assert done.returncode == 1 and done.stderr.startswith("npumemctl: broken.txt: line 1: no JSON object: "), done
    done = history("--svg", "-", MONITOR)
    equal((done.returncode, done.stderr), (1, "npumemctl: history: there is no line of npumemctl top -j: nothing to draw\n"))
    done = history("--svg", "-", "none.txt")
    equal((done.returncode, done.stderr), (1, "npumemctl: none.txt: No such file or directory\n"))
    done = history("--svg", "-", ".")
    equal((done.returncode, done.stderr), (1, "npumemctl: .: Is a directory\n"))


def cut():
    """A last line that was cut is left out, wherever, and that is said; what comes before is drawn."""
    lines = open(TOP).readlines()
    with open("cut.txt", "w", encoding="utf-8") as file:
        file.writelines(lines[:-1])
    whole, last = drawn("--svg", "-", "cut.txt"), lines[-1].rstrip("\n")
    said = f"line {len(lines)}: the last line was cut, and is left out\n"
    for end in (last[:1], last[:100], last[:-1], "\0\0\0"):
        text = "".join(lines[:-1]) + end
        equal(drawn("--svg", "-", "-", text=text, warned="npumemctl: standard input: warning: " + said), whole)
    with open("cut.txt", "a", encoding="utf-8") as file:
        file.write(last[:-1])
    equal(drawn("--svg", "-", "cut.txt", warned="npumemctl: cut.txt: warning: " + said), whole)
    # All of a line, without its end, is one; and what is no line of a recording is refused as ever.
    equal(drawn("--svg", "-", "-", text="".join(lines[:-1]) + last), drawn("--svg", "-", TOP))
    done = history("--svg", "-", "-", text="".join(lines[:-1]) + "{}")
    equal((done.returncode, done.stderr), (1, f"npumemctl: standard input: line {len(lines)}: neither of npumemctl top -j "
                                              "nor of npumemctl monitor -j\n"))
    done = history("--svg", "-", "-", text=lines[0][:100])
    equal((done.returncode, done.stderr),
          (1, "npumemctl: standard input: warning: line 1: the last line was cut, and is left out\n"
              "npumemctl: history: there is no line of npumemctl top -j: nothing to draw\n"))


def damaged():
    """A line in the midst that is no JSON is left out, and said; NULs before a line hide none."""
    lines = open(TOP).readlines()
    whole = drawn("--svg", "-", TOP)
    without = drawn("--svg", "-", "-", text="".join(lines[:4] + lines[5:]))

    def left_out(text, picture, number, why, more=""):
        done = history("--svg", "-", "-", text=text)
        equal((done.returncode, done.stdout), (0, picture))
        said = rf"npumemctl: standard input: warning: line {number}: {why}; it is left out{more}\n"
        assert re.fullmatch(said, done.stderr), (said, done.stderr)

    cut_line, wrong = lines[4][:100], "no JSON object: .*"
    # A recording that ends in the midst of a line, and another one that was added.
    left_out("".join(lines[:4]) + cut_line + "\n" + "".join(lines[5:]), without, 5, wrong)
    left_out("".join(lines[:4]) + cut_line + lines[4] + "".join(lines[5:]), without, 5, wrong)
    left_out("".join(lines[:4]) + "x\ny\n" + "".join(lines[4:]), whole, 5, wrong, ", as are lines below")
    equal(drawn("--svg", "-", "-", text="".join(lines[:4]) + "\0" * 4096 + "".join(lines[4:])), whole)
    long = "\0" * (2 << 20)
    left_out("".join(lines[:4]) + long + "".join(lines[4:]), without, 5, f"the line is longer than {LINE} bytes")
    left_out("".join(lines) + long, whole, len(lines) + 1, f"the line is longer than {LINE} bytes")
    # After so many in a row it is no recording.
    def rows(count):
        return "".join(lines[:4]) + "x\n" * count + "".join(lines[4:])

    left_out(rows(999), whole, 5, wrong, ", as are lines below")
    done = history("--svg", "-", "-", text=rows(1000))
    said = "npumemctl: standard input: line 1004: this and 999 lines before it are no lines of a recording\n"
    equal((done.returncode, done.stderr), (1, said))
    done = history("--svg", "-", "/dev/urandom")
    assert done.returncode == 1 and "are no lines of a recording" in done.stderr, done
    # So is nothing of what is JSON, but no line of a recording.
    done = history("--svg", "-", "-", text="".join(lines[:4]) + "x\n{}\n")
    equal((done.returncode, done.stderr), (1, "npumemctl: standard input: line 6: neither of npumemctl top -j nor of "
                                              "npumemctl monitor -j\n"))


def clock():
    """A clock that was set back is said, once for a file; of less than a second, or in another file, it is not."""
    said = ("npumemctl: standard input: warning: line 3: the clock was set back by {} s; what is drawn is in the order of "
            "times, whatever was first{}\n")
    taken = samples()[8:10]

    def at(*times):
        return "".join(json.dumps({**taken[0], "time": time}) + "\n" for time in times)

    drawn("--svg", "-", "-", text=at(1000, 1001, 1000.5, 1000.2))
    drawn("--svg", "-", "-", text=at(1000, 1001, 1000), warned=said.format("1.000", ""))
    pause = ("npumemctl: history: warning: nothing was recorded for {:.3f} s, or the clock was set forward by so much; "
             "this is drawn shortened\n")
    drawn("--svg", "-", "-", text=at(1000, 90000, 3600.25, 3601, 9),
          warned=said.format("86399.750", "; so it is in lines below") + pause.format(90000 - 3601 - taken[0]["seconds"]))
    event = json.loads(open(MONITOR).readline())
    drawn("--svg", "-", "-", text=at(1000) + "".join(json.dumps({**event, "time": time}) + "\n" for time in (990, 980)),
          warned=said.format("10.000", ""))
    with open("later.txt", "w", encoding="utf-8") as file:
        file.write(at(2000))
    with open("sooner.txt", "w", encoding="utf-8") as file:
        file.write(at(1000))
    drawn("--svg", "-", "later.txt", "sooner.txt", warned=pause.format(1000 - taken[0]["seconds"]))


def endless():
    """A line that does not end is refused before it takes all memory."""
    first = open(TOP).readline()
    with open("endless.txt", "w", encoding="utf-8") as file:
        file.write(first)
        file.truncate(1 << 40)
    for path, number in (("endless.txt", 2), ("/dev/zero", 1)):
        done = history("--svg", "endless.svg", path)
        equal((done.returncode, done.stderr),
              (1, f"npumemctl: {path}: line {number}: the line is longer than {LINE} bytes\n"))
        assert not os.path.exists("endless.svg")
    # The longest line that there may be, and one byte more.
    longest = first.rstrip("\n").ljust(LINE)
    equal(drawn("--svg", "-", "-", text=longest + "\n"), drawn("--svg", "-", "-", text=first))
    done = history("--svg", "-", "-", text=longest + " \n")
    equal((done.returncode, done.stderr),
          (1, f"npumemctl: standard input: line 1: the line is longer than {LINE} bytes\n"))


def usage():
    """What is missing or contradicts itself is wrong usage."""
    for words, why in ((["--svg", "a.svg"], "which RECORDING?"), ([TOP], "what is it to be drawn as, --html or --svg?"),
                       (["--svg", "-", "--html", "-", TOP], "--html - and --svg - both want standard output"),
                       (["--svg", "x.svg", "--html", "./x.svg", TOP], "--html ./x.svg and --svg x.svg are the same file")):
        done = history(*words)
        equal((done.returncode, done.stderr.splitlines()[0].split(": ", 1)[1]), (2, why))


def page():
    """In a browser: the picture has its size, no text leaves it, and the tables have all clients and refusals."""
    drawn("--html", "page.html", TOP, MONITOR)
    script = ("const svg = document.querySelector('svg.history'), all = svg.getBoundingClientRect();"
              "const inside = [...svg.querySelectorAll('text, path, rect')].filter(e => { const r = e.getBoundingClientRect();"
              "return r.left < all.left - 1 || r.right > all.right + 1 || r.top < all.top - 1 || r.bottom > all.bottom + 1; });"
              "const rows = s => [...document.querySelectorAll(s + ' tbody tr')].map(r => [...r.cells].map(c => c.textContent));"
              "const said = document.createElement('pre'); said.id = 'said'; said.textContent = JSON.stringify([all.width > 900,"
              "inside.map(e => e.outerHTML), rows('#clients'), rows('#events').map(r => r.slice(0, 2))]); document.body.append(said);")
    body = open("page.html", encoding="utf-8").read()
    assert "<script" not in body and "http://" not in body.replace("http://www.w3.org/", "")
    with open("asked.html", "w", encoding="utf-8") as file:
        file.write(body.replace("</body>", "<script>//<![CDATA[\n" + script + "//]]></script></body>"))
    dom = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000",
                          "--user-data-dir=" + os.path.realpath("profile"), "--dump-dom", "file://" + os.path.realpath("asked.html")],
                         check=True, capture_output=True, timeout=LIMIT).stdout.decode()
    found = re.search(r'<pre id="said">(.*?)</pre>', dom, re.S)
    assert found, dom[-2000:]
    equal(json.loads(html.unescape(found.group(1))), [
        True, [], [["4", "412", "1000", "<transcriber>", "20971520", "40.00"], ["3", "410", "0", "detector", "12582912", "30.00"]],
        [["2.000 s", "plan refused"], ["4.625 s", "job refused"], ["4.627 s", "job refused"], ["10.250 s", "job failed"]]])


CASES = [area, order, marks, many, gap, jump, boots, refused, cut, damaged, clock, endless, usage, page]


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    failed = 0
    for number, case in enumerate(CASES, 1):
        what = case.__doc__.split(";")[0].splitlines()[0].rstrip(".")
        if case is page and not BROWSER:
            print(f"ok {number} - {what} # SKIP no chromium")
            continue
        try:
            case()
            print(f"ok {number} - {what}", flush=True)
        except (AssertionError, subprocess.SubprocessError, ValueError) as error:
            failed += 1
            print(f"not ok {number} - {what}")
            for line in f"{type(error).__name__}: {error}".splitlines():
                print("# " + line)
    print(f"1..{len(CASES)}")
    shutil.rmtree(folder)
    return failed > 0


sys.exit(main())
