#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TensorFlow Lite with the borrowing delegate beside plain TensorFlow Lite, in process.

usage: bench_inference.py PROGRAM DELEGATE RUNTIME MODEL...

PROGRAM is npumem-tflite, which makes the inferences of both in turns. A line for each model:
operators, those claimed; bytes of npumem's arena, of TensorFlow Lite's own and of the lower bound;
medians in milliseconds, and their ratio. A model that takes more than 10 ms is measured up to three
times, until it takes at most 5 % more, since others use the machine, too. Exit 1: outputs differ, an
arena is larger than TensorFlow Lite's own (0: it has none, its tensors come from the heap as it runs),
the time is more than that, or the delegate fails where TensorFlow Lite alone does not. A model that
TensorFlow Lite does not take, or that it does not survive itself, is named and passed over.
"""

import json
import os
import signal
import subprocess
import sys

LONG_NS = 10_000_000
SECONDS = 4
TRIES = 3


def run(program, runtime, model, *options):
    command = [program, "--runtime", runtime, *options, model]
    return subprocess.run(command, capture_output=True, text=True)


def is_taken(program, runtime, model):
    """Whether TensorFlow Lite runs the model by itself."""
    return run(program, runtime, model, "-d", "none", "-j").returncode == 0


def infer(program, delegate, runtime, model, runs):
    """What npumem-tflite says of so many inferences; None, and why, if there are none."""
    done = run(program, runtime, model, "-d", delegate, "-j", "-c", "-n", str(runs))
    if done.returncode < 0:
        return None, signal.Signals(-done.returncode).name
    if not done.stdout:
        # A path is this machine's, and no figure.
        return None, done.stderr.strip().rpartition(f"{model}: ")[2]
    return json.loads(done.stdout), ""


def measure(program, delegate, runtime, model):
    """Of the tries the one with the least ratio."""
    best, why = infer(program, delegate, runtime, model, 3)
    if not best:
        return None, why
    runs = max(10, min(1000, SECONDS * 10**9 // (2 * best["plain"]["median_ns"] + 1)))
    best = None
    for _ in range(TRIES):
        said, why = infer(program, delegate, runtime, model, runs)
        if not said:
            return None, why
        if not said["equal"]:
            return said, ""
        if not best or ratio(said) < ratio(best):
            best = said
        if not is_slow(best):
            break
    return best, ""


def ratio(said):
    return said["npumem"]["median_ns"] / said["plain"]["median_ns"]


def is_slow(said):
    return said["plain"]["median_ns"] > LONG_NS and ratio(said) > 1.05


def faults_of(said):
    if not said["equal"]:
        yield "outputs differ"
    if 0 < said["plain"]["arena_bytes"] < said["npumem"]["arena_bytes"]:
        yield "the arena is larger"
    if is_slow(said):
        yield "it takes longer"


def main():
    program, delegate, runtime, *models = sys.argv[1:]
    failed = 0
    print(f"{'model':36} {'operators':>9} {'arena':>9} {'its own':>9} {'bound':>9}"
          f" {'npumem ms':>9} {'plain ms':>9} {'ratio':>6}")
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        said, why = measure(program, delegate, runtime, model)
        if not said:
            print(f"{name:36} not run: {why}")
            if is_taken(program, runtime, model):
                print(f"{name}: TensorFlow Lite alone runs it", file=sys.stderr)
                failed += 1
            continue
        npumem, plain = said["npumem"], said["plain"]
        print(f"{name:36} {said['claimed']:>4}/{said['operators']:<4} {npumem['arena_bytes']:>9}"
              f" {plain['arena_bytes']:>9} {npumem['lower_bound']:>9}"
              f" {npumem['median_ns'] / 1e6:>9.3f} {plain['median_ns'] / 1e6:>9.3f}"
              f" {ratio(said):>6.3f}")
        for fault in faults_of(said):
            print(f"{name}: {fault}", file=sys.stderr)
            failed += 1
    sys.exit(failed != 0)


main()
