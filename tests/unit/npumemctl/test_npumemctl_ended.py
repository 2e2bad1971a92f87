#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ends a search, and what is said of it: signals, deadlines, limits.

usage: test_npumemctl_ended.py NPUMEMCTL GRAPHS

TAP. GRAPHS: tests/graphs. A signal is sent when a line of progress was seen, on a
terminal that is standard error. The searches here have no end of their own that
anybody has waited for.
"""
import json
import os
import pty
import random
import select
import signal
import subprocess
import sys
import tempfile

LIMIT = 300  # seconds without a byte: for hangs
CTL, GRAPHS = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
ENDLESS = ["--work", str(2**64 - 2)]
SAID = "npumemctl: interrupted: the best found so far"


def write_graph(path, count, seed=1):
    """Operators that each read some of the 300 tensors before."""
    chance = random.Random(seed)
    tensors = [{"id": i, "name": f"t{i}", "shape": [], "bytes": chance.randrange(1, 1000003),
                "kind": "activation"} for i in range(count + 1)]
    tensors[0]["kind"], tensors[count]["kind"] = "input", "output"
    ops = []
    for i in range(count):
        read = {chance.randrange(max(0, i - 300), i + 1) for _ in range(1 + chance.randrange(2))}
        ops.append({"id": 10000 + i, "name": f"o{i}", "type": "f", "inputs": sorted(read | {i}),
                    "outputs": [i + 1]})
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"name": "net", "tensors": tensors, "ops": ops}, out)


def write_buffers(path, count, seed=1):
    chance = random.Random(seed)
    with open(path, "w", encoding="utf-8") as out:
        out.write("id,lower,upper,size\n")
        for i in range(count):
            start = chance.randrange(count)
            out.write(f"b{i},{start},{start + 1 + chance.randrange(600)},"
                      f"{1 + chance.randrange(100003)}\n")


def run(words):
    """Exit status, standard output as JSON (or None), standard error."""
    done = subprocess.run([CTL, *words], capture_output=True, text=True, timeout=LIMIT * 4,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def interrupt(words, number):
    """As run(), but with a signal as soon as there is something to end with."""
    wanted = (b" s",) if "--pareto" in words else (b"arena ", b"traffic ")
    terminal, theirs = pty.openpty()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([CTL, *words], stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        seen, sent = b"", False
        while select.select([terminal], [], [], LIMIT)[0]:
            try:
                more = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                more = b""
            if not more:
                break
            seen += more
            if not sent and any(word in seen for word in wanted):
                child.send_signal(number)
                sent = True
        else:
            child.kill()
        status = child.wait()
        os.close(terminal)
        out.seek(0)
        text = out.read()
    if not sent:
        raise AssertionError(f"no progress: {seen!r}, status {status}")
    return status, json.loads(text) if text else None, seen.decode()


def same(got, expected):
    assert got == expected, f"{got!r}, expected {expected!r}"


def interrupted(words, number, *outputs):
    status, said, error = interrupt(words, number)
    same(status, 5)
    same(error.split("\x1b[K")[-1].strip(), SAID)
    for path in outputs:
        assert os.path.exists(path), f"no {path}"
        os.remove(path)
    said = said["files"][0] if "files" in said else said
    same(said["ended_by"], "interrupt")
    return said


def plan_interrupted(planner, number):
    said = interrupted(["plan", "-j", *planner, *ENDLESS, "net.json", "-o", "plan.json", "--blob",
                        "plan.bin"], number, "plan.bin")
    same(said["status"], "feasible")
    same(subprocess.run([CTL, "verify", "net.json", "plan.json"], capture_output=True,
                        check=False).returncode, 0)
    os.remove("plan.json")


def pareto_interrupted(number):
    said = interrupted(["plan", "-j", "--planner", "tile-scheduled", "--pareto", *ENDLESS,
                        f"{GRAPHS}/densenet121.fused.json"], number)
    same(said["complete"], False)
    assert said["points"], "no orders"


def pack_interrupted(number):
    said = interrupted(["bench", "pack", "-j", *ENDLESS, "many.csv", "-o", "out.csv"], number,
                       "out.csv")
    same(said["status"], "feasible")


def ended(by, status, words):
    got, said, error = run(words)
    same(error, "")
    same(got, 0)
    same(said["ended_by"], by)
    if status:
        same(said["status"], status)
    return said


def pareto_limited():
    words = ["plan", "-j", "--planner", "tile-scheduled", "--pareto",
             f"{GRAPHS}/densenet121.fused.json"]
    same(ended("work", None, [*words, "--work", "1000000"])["complete"], False)
    same(ended("deadline", None, [*words, *ENDLESS, "--deadline", "0.5"])["complete"], False)
    whole = ["plan", "-j", "--planner", "tile-scheduled", "--pareto",
             f"{GRAPHS}/fsrcnn_s_x2_512.fused.json"]
    same(ended(None, None, whole)["complete"], True)


def plan_memory(*planner):
    words = ["plan", "-j", *planner, "--work", "50000000", "net.json"]
    ended("memory", "feasible", [*words, "--memory", "200KiB"])
    ended("work", "feasible", [*words, "--memory", "1GiB"])


CHECKS = [
    *[(f"plan --planner {' '.join(planner)}: {number.name}", plan_interrupted,
       (["--planner", *planner], number))
      for planner in (["auto"], ["exact"], ["cosma", "--budget", "MH"])
      for number in (signal.SIGINT, signal.SIGTERM)],
    *[(f"plan --pareto: {number.name}", pareto_interrupted, (number,))
      for number in (signal.SIGINT, signal.SIGTERM)],
    *[(f"bench pack: {number.name}", pack_interrupted, (number,))
      for number in (signal.SIGINT, signal.SIGTERM)],
    ("plan --pareto: work, deadline, and nothing", pareto_limited, ()),
    ("plan: deadline", ended, ("deadline", "feasible", ["plan", "-j", *ENDLESS, "--deadline",
                                                        "0.5", "net.json"])),
    ("plan: work", ended, ("work", "feasible", ["plan", "-j", "--work", "1000000", "net.json"])),
    ("plan: memory", plan_memory, ()),
    ("plan --planner exact: memory", plan_memory, ("--planner", "exact")),
    ("plan --planner cosma: memory", ended,
     ("memory", "feasible", ["plan", "-j", "--planner", "cosma", "--memory", "100KiB",
                             "net.json"])),
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_graph("net.json", 3000)
        write_buffers("many.csv", 20000)
        for number, (name, check, arguments) in enumerate(CHECKS, 1):
            try:
                check(*arguments)
                print(f"ok {number} - {name}")
            except (AssertionError, KeyError, ValueError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"not ok {number} - {name}")
                print(f"# {error!r}")
            sys.stdout.flush()
        os.chdir("/")
    print(f"1..{len(CHECKS)}")
    return failed != 0


sys.exit(main())
