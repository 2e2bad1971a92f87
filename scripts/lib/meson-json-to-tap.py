#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the results in a meson test log (JSON lines) as TAP streams.

usage: meson-json-to-tap.py LOG

A program whose output is TAP is passed on, its names prefixed; if it failed
without saying so in TAP (crash, sanitizer, timeout), that is one failed test.
"""

import json
import re
import sys

# A number is asked for: "ok: 3000 cases" is a sentence, not a result.
RESULT = re.compile(r"^(not ok|ok) +(\d+)\b\s*-?\s*(.*)$")
SKIP = re.compile(r"^(.*?)\s*#\s*SKIP\s*(.*)$", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)")


def show(test):
    """Print one program's stream."""
    name = test["name"].split(" / ")[-1]
    out = test.get("stdout") or ""
    err = test.get("stderr") or ""
    lines = out.splitlines()
    results = [m for m in map(RESULT.match, lines) if m]
    planned = any(PLAN.match(line) for line in lines)
    bad = test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")

    print(f"# program: {name} ({test['duration']:.1f} s)")
    if results or planned:
        for line in lines:
            m = RESULT.match(line)
            skip = m and SKIP.match(m[3])
            if skip:
                # cmocka says "not ok" of a skip.
                print(f"ok {m[2]} - {name}: {skip[1] or skip[2]} # SKIP")
            elif m:
                print(f"{m[1]} {m[2]} - {name}: {m[3]}")
            elif PLAN.match(line) or line.startswith("Bail out!"):
                print(line)
            elif bad:
                print("# " + line)
        if bad and not any(m[1] == "not ok" and not SKIP.match(m[3])
                           for m in results):
            print("1..1")
            print(f"not ok 1 - {name}: {test['result']}")
    else:
        print("1..1")
        if test["result"] == "SKIP":
            print(f"ok 1 - {name} # SKIP")
        else:
            print(f"{'not ok' if bad else 'ok'} 1 - {name}")
        if bad:
            for line in lines[-60:]:
                print("# " + line)
    if bad:
        for line in err.splitlines()[-60:]:
            print("# " + line)


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        print("Bail out! meson ran no test of this suite")
        return
    for test in sorted(tests, key=lambda t: t["name"]):
        show(test)


main()
