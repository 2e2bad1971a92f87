#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completions in the shells themselves: what a Tab makes of a line.

usage: test_npumemctl_complete.py NPUMEMCTL FOLDER_OF_COMPLETIONS

TAP. bash and zsh are typed at on a terminal of their own, fish is asked.
"""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile

LIMIT = 300  # seconds without a byte: for hangs
CTL, FOLDER = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])

# What is typed before Tab, and the one line that it must become.
ONE = [
    ("npumemctl ver", "npumemctl verify"),
    ("npumemctl help ver", "npumemctl help verify"),
    ("npumemctl plan --planner=greedy-du", "npumemctl plan --planner=greedy-duration"),
    ("npumemctl plan --planner greedy-du", "npumemctl plan --planner greedy-duration"),
    ("npumemctl plan --fixed-s", "npumemctl plan --fixed-schedule"),
    ("npumemctl run --external=car", "npumemctl run --external=carveout"),
    ("npumemctl plan only", "npumemctl plan only-one.json"),
    ("npumemctl plan --output=only", "npumemctl plan --output=only-one.json"),
    ("npumemctl plan x.json -o only", "npumemctl plan x.json -o only-one.json"),
    ("npumemctl bench pack --packer=squ", "npumemctl bench pack --packer=squeaky"),
]
# A plan of the folder "plans".
KEY = "abc" + 61 * "0"
ONE += [
    ("npumemctl cache --folder plans show abc", "npumemctl cache --folder plans show " + KEY),
    ("npumemctl cache --folder=plans drop ab", "npumemctl cache --folder=plans drop " + KEY),
    ("npumemctl cache --folder plans export only-one.json ab",
     "npumemctl cache --folder plans export only-one.json " + KEY),
    ("npumemctl cache warm only", "npumemctl cache warm only-one.json"),
]
# Where nothing is known: the line stays as it is.
NONE = [
    "npumemctl plan --external sys",
    "npumemctl plan --work onl",
    "npumemctl devices onl",
    "npumemctl cache --folder plans show onl",
    "npumemctl cache --folder none show ab",
]
# Of bash alone, where "=" is a word; in zsh it asks for a command.
BASH = ["npumemctl ="]

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "PS1='ready>'; bind 'set enable-bracketed-paste off'; . {0}/npumemctl.bash-completion\n"),
    "zsh": (["zsh", "-f", "-i"],
            "PS1='ready>'; unsetopt prompt_cr prompt_sp zle_bracketed_paste; "
            "mkdir f; cp {0}/npumemctl.zsh-completion f/_npumemctl; fpath=($PWD/f $fpath); "
            "autoload -Uz compinit; compinit -u -D; unsetopt auto_param_slash; "
            "zstyle ':completion:*' list-prompt ''\n"),
}


class Terminal:
    def __init__(self, words):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(TERM="dumb", COLUMNS="200", HISTFILE="")
            os.execvp(words[0], words)

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, text):
        """All up to the text; what follows is for next time."""
        while text not in self.seen:
            if not select.select([self.fd], [], [], LIMIT)[0]:
                raise TimeoutError(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        before, text, self.seen = self.seen.partition(text)
        return before + text

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def typed_at(shell):
    """A function from what is typed before Tab to the line that it becomes."""
    words, setup = SHELLS[shell]
    terminal = Terminal(words)
    terminal.type(setup.format(FOLDER))
    # The echo has no such text in it, the answer has.
    terminal.type("echo set''up\n")
    terminal.until("setup")
    terminal.until("ready>")

    def complete(text):
        # Once more at the beginning, so that the shell says what the line is.
        terminal.type(text + "\t" + "\x01" + "echo '<'" + "\x05" + "'>'\n")
        return terminal.until("'>'") + terminal.until("ready>")

    return complete, terminal


def line_of(answer):
    """What echo printed: the words between the marks."""
    lines = [line.strip() for line in answer.replace("\r", "\n").split("\n")]
    return [" ".join(line[1:-1].split()) for line in lines if line.startswith("<") and line.endswith(">")]


def fish(text):
    out = subprocess.run(["fish", "--no-config", "-c", f"source {FOLDER}/npumemctl.fish-completion; "
                          f"complete -C '{text}'"], check=True, capture_output=True, text=True).stdout
    found = [line.split("\t")[0] for line in out.splitlines()]
    return text.rpartition(" ")[0] + " " + found[0] if len(found) == 1 else text


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    open("only-one.json", "w").close()
    os.mkdir("plans")
    open(f"plans/{KEY}.plan", "w").close()
    os.environ["PATH"] = os.path.dirname(CTL) + ":" + os.environ["PATH"]
    count = failed = 0
    for shell in ("bash", "zsh", "fish"):
        terminal = None
        cases = ONE + [(text, text) for text in NONE + (BASH if shell == "bash" else [])]
        if shutil.which(shell) and shell != "fish":
            complete, terminal = typed_at(shell)
        for text, wanted in cases:
            count += 1
            what = f"{shell}: {text}"
            if not shutil.which(shell):
                print(f"ok {count} - {what} # SKIP no {shell} here")
                continue
            if shell == "fish":
                got = fish(text)
                good = got == wanted
            else:
                said = complete(text)
                got = line_of(said)
                # What bash says of the function's own mistakes begins so.
                good = wanted in got and "bash:" not in said
            print(f"{'ok' if good else 'not ok'} {count} - {what}")
            if not good:
                failed += 1
                print(f"# became {got!r}, expected {wanted!r}")
                if shell != "fish":
                    print(f"# said {said!r}")
        if terminal:
            terminal.close()
    print(f"1..{count}")
    shutil.rmtree(folder)
    return failed > 0


sys.exit(main())
