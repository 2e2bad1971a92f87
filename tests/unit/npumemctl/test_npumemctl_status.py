#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_npumemctl_status.py - npumemctl status, and all that may answer in npumemd's place.

usage: test_npumemctl_status.py NPUMEMCTL

TAP.
"""
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

CTL = os.path.abspath(sys.argv[1])
count = failed = 0
BODY = ('# TYPE npumemd_build info\nnpumemd_build_info{version="9.8"} 1\nnpumemd_registered 1\n'
        'npumemd_requests_under_way 1\nnpumemd_requests_waiting 10\nnpumemd_places 2\nnpumemd_searches_waiting 3\n'
        'npumemd_requests_total{planner="auto",outcome="planned"} 4\n'
        'npumemd_requests_total{planner="cosma",outcome="planned"} 5\n'
        'npumemd_requests_total{planner="cosma",outcome="failed"} 6\n'
        'npumemd_request_failures_total{errno="ENOSPC\x1b"} 6\n'
        'npumemd_request_duration_seconds_sum 30\nnpumemd_request_duration_seconds_count 15\n'
        'npumemd_planning_cpu_seconds_total 12.5\n'
        'npumemd_searches_ended_total{outcome="better"} 7\n')
END = '# EOF\n'
OK = 'HTTP/1.1 200 OK\r\n\r\n'


def check(name, right, why=''):
    """One test."""
    global count, failed
    count += 1
    failed += not right
    print(f'{"ok" if right else "not ok"} {count} - {name}')
    if not right:
        print('# ' + str(why).replace('\n', '\n# '))


def ask(answer, *options):
    """What npumemctl says where @answer is told; None: nobody answers, and nobody hangs up."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 's')
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen()

        def serve():
            client = server.accept()[0]
            if answer is None:
                client.recv(4096)
                client.recv(4096)
            else:
                client.recv(4096)
                try:
                    client.sendall(answer if isinstance(answer, bytes) else answer.encode())
                except OSError:
                    pass
            client.close()

        thread = threading.Thread(target=serve)
        thread.start()
        done = subprocess.run([CTL, 'status', '-s', path, *options], capture_output=True,
                              text=True, check=False)
        thread.join()
        server.close()
        return done.returncode, done.stdout, done.stderr.replace(path, 'SOCKET')


got = ask(OK + BODY + END)
expected = (0, 'npumemd    9.8, registered with the driver\n'
            'requests   1 of 2 places taken, 10 wait; 9 planned, 0 answered with kept plans, 6 failed, '
            '0 refused by the driver, 0 given up\n'
            'duration   2.000 s on average; planning took 12.500 s of processor time in all\n'
            'failures   ENOSPC\\x1b 6\n'
            'searches   3 run or wait; 7 found a better plan, 0 none, 0 failed\n', '')
check('what it has done', got == expected, got)
got = ask(OK + BODY.replace('registered 1', 'registered 0') + END)
check('it waits for the driver',
      got[1].startswith('npumemd    9.8, waiting for the driver\n'), got)
got = ask(OK + BODY + END, '-j')
samples = json.loads(got[1])
check('all samples', got[0] == 0 and samples['npumemd_places'] == [{'value': 2.0}] and
      samples['npumemd_requests_total'][1] == {'planner': 'cosma', 'outcome': 'planned',
                                               'value': 5.0}, got)

got = ask(OK + BODY + 'npumemd_large_total 123456789012\nnpumemd_part 12345678.25\n' + END, '-j')
samples = json.loads(got[1])
check('a large count has all its digits', samples['npumemd_large_total'] == [{'value': 123456789012}], got)
check('and a large number that is no count', samples['npumemd_part'] == [{'value': 12345678.25}], got)
NONE = (1, '', 'npumemctl: SOCKET: what answers is no npumemd\n')
for name, answer in (('nothing', ''), ('no HTTP', BODY + END), ('an error', OK.replace('200', '404')),
                     ('no text of its own', OK + 'up 1\n' + END),
                     ('a line without a value', OK + BODY + 'npumemd_places\n' + END),
                     ('a value that is none', OK + BODY + 'npumemd_places two\n' + END),
                     ('a value that is no number', OK + BODY + 'npumemd_places nan\n' + END),
                     ('a value without end', OK + BODY + 'npumemd_places inf\n' + END),
                     ('labels that do not end', OK + BODY + 'npumemd_places{a="b 1\n' + END),
                     ('labels that only begin', OK + BODY + 'npumemd_places{ 1\n' + END),
                     ('a name that is no UTF-8', (OK + BODY).encode() + b'\xff\xfe 1\n# EOF\n'),
                     ('a label that is none', (OK + BODY).encode() + b'up{a="\xff"} 1\n# EOF\n')):
    got = ask(answer)
    check(f'{name}: it is said', got == NONE, got)
CUT = (1, '', "npumemctl: SOCKET: the answer is cut off: it lacks the end of npumemd's metrics\n")
WHOLE = OK + BODY + END
for name, size in (('in its head', len(OK) - 2), ('before all samples', len(OK)),
                   ('between samples', WHOLE.index('npumemd_places')),
                   ('in a number', WHOLE.index('.5\n')), ('before its end', len(OK + BODY)),
                   ('in its end', len(WHOLE) - 1)):
    got = ask(WHOLE[:size])
    check(f'cut off {name}: it is said', got == CUT, got)
got = ask(WHOLE + WHOLE[len(OK):-1])
check('an end in the middle is none', got == CUT, got)
got = ask(OK + BODY + '# x\n' * (1 << 18))
check('an answer without end', got == (1, '', 'npumemctl: SOCKET: the answer does not end\n'), got)


def without_end(folder):
    """Two who wait in vain at once: for a place in the queue, and for one byte after another."""
    full, slow = os.path.join(folder, 'full'), os.path.join(folder, 'slow')
    waiting = []
    with socket.socket(socket.AF_UNIX) as queue, socket.socket(socket.AF_UNIX) as server:
        queue.bind(full)
        queue.listen(0)
        while True:
            client = socket.socket(socket.AF_UNIX)
            waiting.append(client)
            client.setblocking(False)
            try:
                client.connect(full)
            except BlockingIOError:
                break
        server.bind(slow)
        server.listen()
        asking = [subprocess.Popen([CTL, 'status', '-s', path], stderr=subprocess.PIPE, text=True)
                  for path in (full, slow)]
        client = server.accept()[0]
        try:
            for byte in WHOLE:
                client.sendall(byte.encode())
                time.sleep(3)
        except BrokenPipeError:
            pass
        client.close()
        said = [process.communicate()[1].replace(folder, 'FOLDER') for process in asking]
        for client in waiting:
            client.close()
    return said


with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
    # Beside them one who waits for any answer, in vain too.
    silent = pool.submit(ask, None)
    got = without_end(folder)
    check('no answer', silent.result() == (1, '', 'npumemctl: SOCKET: no answer comes\n'), silent.result())
    check('no place in the queue', got[0] == 'npumemctl: FOLDER/full: no answer comes\n', got)
    check('an answer byte by byte', got[1] == 'npumemctl: FOLDER/slow: no answer comes\n', got)


def refused(path):
    """What is said of a path."""
    return subprocess.run([CTL, 'status', '-s', path], capture_output=True, text=True,
                          check=False).stderr


check('no socket', refused('/nowhere') ==
      "npumemctl: /nowhere: No such file or directory: npumemd does not run, or its configuration has "
      "no socket in [metrics], as by default if it was started by hand\n")
check('a folder', refused('/tmp') == 'npumemctl: /tmp: this is no socket\n')
check('a file', refused(CTL) == f'npumemctl: {CTL}: this is no socket\n')
check('a path that is too long',
      refused('/' + 'x' * 200) == 'npumemctl: /' + 'x' * 200 + ': File name too long\n')
with tempfile.TemporaryDirectory() as folder:
    left = os.path.join(folder, 's')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(left)
    got = refused(left)
    check('a socket that was left', got ==
          f'npumemctl: {left}: Connection refused: nobody listens there any more\n', got)
    with socket.socket(socket.AF_UNIX) as server:
        os.remove(left)
        server.bind(left)
        server.listen()

        def hang_up():
            # With what was asked unread, as npumemd does where it has no place.
            client = server.accept()[0]
            select.select([client], [], [])
            client.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        got = refused(left)
        thread.join()
        check('no place', got == f'npumemctl: {left}: it hangs up: others ask at this time, as many '
              'as may\n', got)
print(f'1..{count}')
sys.exit(failed > 0)
