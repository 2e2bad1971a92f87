#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_npumemctl_fields.py - docs/formats.md has the fields of the JSON that commands print.

usage: test_npumemctl_fields.py NPUMEMCTL SOURCES DOCUMENT

Most of these commands need a device to print anything, so the fields are those that the functions
give to json_pack() and json_object_set_new(). Each is as often in the tables as in the functions.

TAP.
"""
import os
import re
import sys
from collections import Counter

SOURCES, DOCUMENT = sys.argv[2:]
# Tables by the heading above them and their places below it; the functions that make what they
# have; fields whose names are no literals.
TABLES = [
    ('devices -j', (0,), {'cmd/devices.c': ['holder_json', 'device_json', 'devices_print']}, []),
    ('top -j', (0,), {'live/top.c': ['row_json', 'top_json']}, []),
    ('monitor -j', (0,), {'live/event_text.c': ['event_print_json'], 'cli/verdict.c': ['verdict_places']}, []),
    ('graph list -j', (0, 1), {'live/objects.c': ['object_json', 'objects_json']}, ['graphs', 'plans', 'runs']),
    ('graph list -j', (2,), {'live/objects.c': ['plan_json', 'object_json_all']}, []),
    ('graph list -j', (3,), {'live/objects.c': ['run_json']}, []),
    ('cache -j', (1,), {'cmd/kept.c': ['kept_json', 'history_json'], 'cmd/cache.c': ['list_one', 'show_one']}, []),
    ('cache -j', (2,), {'cmd/cache.c': ['export_one']}, []),
    ('cache -j', (3,), {'cmd/cache.c': ['model_json']}, []),
]
# All four actions say which folder, and two of them plans.
ONCE = [('cache -j', (0,), {'cmd/cache.c': ['list', 'show', 'export', 'warm']}, [])]
count = failed = 0


def check(name, wrong):
    global count, failed
    count += 1
    failed += bool(wrong)
    print(f'{"not ok" if wrong else "ok"} {count} - {name}')
    if wrong:
        print('# ' + wrong)


def source(name):
    with open(os.path.join(SOURCES, name), encoding='utf-8') as file:
        return file.read()


def body(text, function):
    """Of the function's definition, which begins at the left margin."""
    found = re.search(rf'^\w[^\n;]*\b{function}\([^;{{]*\)\n{{.*?^}}', text, re.M | re.S)
    return found.group(0) if found else ''


def arguments(text, begin):
    """Of the call whose parenthesis opens at begin, as texts."""
    depth, found = 0, ['']
    for token in re.finditer(r'"(?:\\.|[^"\\])*"|[()\[\],]|[^"()\[\],]+', text[begin:]):
        token = token.group(0)
        depth += (token in '([') - (token in ')]')
        if not depth:
            return [one.strip() for one in found]
        if token == ',' and depth == 1:
            found.append('')
        elif depth > 1 or token != '(':
            found[-1] += token
    raise ValueError(text[begin:begin + 80])


def packed(args):
    """Names of the fields that json_pack() is given: "s" in an object where a name stands."""
    names, rest, inside, is_name = [], iter(args[1:]), [], False
    for letter in args[0].replace('"', '').replace(' ', ''):
        if letter in '{[':
            inside.append(letter)
            is_name = letter == '{'
        elif letter in '}]':
            inside.pop()
            is_name = bool(inside) and inside[-1] == '{'
        else:
            value = next(rest)
            if is_name and value.startswith('"'):
                names.append(value.strip('"'))
            is_name = not is_name if inside[-1] == '{' else False
    return names


def made(text):
    names = []
    for call in re.finditer(r'\bjson_pack(?=\()', text):
        names += packed(arguments(text, call.end()))
    return names + re.findall(r'\b(?:json_object_set_new|set_index)\(\w+, "(\w+)"', text)


def documented():
    """Fields of the tables that have them, by heading: a list for each."""
    with open(DOCUMENT, encoding='utf-8') as file:
        parts = re.split(r'^##+ (.*)$', file.read(), flags=re.M)
    tables = {}
    for heading, text in zip(parts[1::2], parts[2::2]):
        for table in re.findall(r'^\| field \| type \| unit \| meaning \|\n.*\n((?:\|.*\n)+)', text, re.M):
            cells = [line.split('|')[1] for line in table.splitlines()]
            tables.setdefault(heading, []).append([re.split(r'[.\]]', name)[-1] for cell in cells
                                                   for name in re.findall('`([^`]+)`', cell)])
    return tables


tables = documented()
covered = Counter()
for command, places, functions, others in TABLES + ONCE:
    heading, = (heading for heading in tables if heading.startswith(f'`npumemctl {command}`'))
    code = list(others)
    for name, of in functions.items():
        for function in of:
            fields = made(body(source(name), function))
            check(f'{name} has {function}()', '' if fields else 'it makes no JSON')
            code += fields
            covered[name] += body(source(name), function).count('json_pack(')
    there = [field for place in places for field in tables[heading][place]]
    if (command, places, functions, others) in ONCE:
        code, there = set(code), set(there)
    code, there = Counter(code), Counter(there)
    wrong = f'not in the document: {dict(code - there)}; in it alone: {dict(there - code)}'
    check(f'{command}, tables {places}: all fields, and no others', wrong if code != there else '')
for name, calls in covered.items():
    check(f'{name}: no other function makes JSON', '' if source(name).count('json_pack(') == calls else 'one does')
print(f'1..{count}')
sys.exit(failed > 0)
