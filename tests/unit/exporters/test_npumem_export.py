#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_npumem_export.py - PyTorch models as graph JSON: small ones as the files in
tests/graphs/pytorch have them, torchvision's networks as tests/graphs has them, and each refusal
with its whole sentence.

usage: test_npumem_export.py EXPORTER_FOLDER GRAPHS_FOLDER [--write]

--write makes the files in tests/graphs/pytorch anew.  Without PyTorch 2.6 or later no model is
tested, and without torchvision no network of it, which both is said.  TAP.
"""
import difflib
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings

EXPORTER, GRAPHS = (os.path.abspath(p) for p in sys.argv[1:3])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [EXPORTER, HERE]
sys.dont_write_bytecode = True
SOURCE = 'tests/unit/exporters/pytorch_models.py'
count = failed = 0


def check(name, function, *args):
    """Run one test; it fails if it raises."""
    global count, failed
    count += 1
    try:
        function(*args)
        print(f'ok {count} - {name}', flush=True)
    except Exception:
        failed += 1
        print(f'not ok {count} - {name}')
        print('# ' + traceback.format_exc().replace('\n', '\n# '), flush=True)


def skipped(name, why):
    """Count a test that cannot run here."""
    global count
    count += 1
    print(f'ok {count} - {name} # SKIP {why}')


def end():
    """The plan, and the exit status."""
    print(f'1..{count}')
    sys.exit(1 if failed else 0)


def equal(got, expected):
    """Fail with the difference of two texts."""
    if got != expected:
        raise AssertionError('\n' + '\n'.join(difflib.unified_diff(
            expected.splitlines(), got.splitlines(), 'expected', 'got', lineterm='')))


def command(*args, **variables):
    """Exit status, output and errors of npumem-export, called where the test's files are."""
    run = subprocess.run([sys.executable, '-W', 'ignore', os.path.join(EXPORTER, 'npumem-export'),
                          *args], capture_output=True, text=True, check=False,
                         env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1', **variables})
    return run.returncode, run.stdout, run.stderr


def says(status, error, *args):
    """Exit status and all of standard error."""
    got = command(*args)
    equal(f'{got[0]}: {got[2]}', f'{status}: {error}')
    return got[1]


def without_torch():
    """A system that has no PyTorch, or an older one: help, version, and a sentence."""
    words = ('npumem-export: PyTorch 2.6 or later is needed, which has torch.export (Debian 13: '
             'apt-get install python3-torch)\n')
    for files, text in ((('torch.py',), 'raise ImportError\n'),
                        (('torch/__init__.py', 'torch/export.py'), '')):
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
                with open(os.path.join(folder, file), 'w', encoding='utf-8') as out:
                    out.write(text)
            equal(str(command('model.pt2', PYTHONPATH=folder)), str((1, '', words)))
            equal(str(command('--version', PYTHONPATH=folder)),
                  str((0, 'npumem-export 0.1.0\n', '')))
            if 'a file of torch.export.save()' not in command('--help', PYTHONPATH=folder)[1]:
                raise AssertionError('no help')


check('without PyTorch there are help and version, and a sentence', without_torch)
try:
    import torch.export
    if not hasattr(torch.export, 'load'):
        raise ImportError(f'PyTorch {torch.__version__} has no torch.export')
except ImportError as error:
    skipped('PyTorch models as graph JSON', f'no PyTorch 2.6 or later here ({error}), so the '
            'exporter has NOT been tested: Debian 13 has python3-torch and python3-torchvision')
    end()

import npumem_export  # noqa: E402
import pytorch_models  # noqa: E402
from pytorch_models import F, nn  # noqa: E402

warnings.simplefilter('ignore')
zeros = torch.zeros


# ---------------------------------------------------------------------- small models


def small(name):
    """A small model is what the committed file has, and only "unknown" is warned of."""
    model, args, options = pytorch_models.MODELS[name]
    said = []
    graph = npumem_export.export(model(), args(), name, source=SOURCE, warn=said.append, **options)
    path = os.path.join(GRAPHS, 'pytorch', name + '.json')
    if '--write' in sys.argv:
        npumem_export.save(graph, path)
    got = io.StringIO()
    npumem_export.write(graph, got)
    with open(path, encoding='utf-8') as file:
        equal(got.getvalue(), file.read())
    assert said == (["operator 'erfinv' (aten.erfinv.default) is not known here: it is planned "
                     'whole, and so are others of its kind'] if name == 'unknown' else []), said


for case in pytorch_models.MODELS:
    check(f'small model: {case}', small, case)


def by_core_operators():
    """A program of core operators has its updates at the end; the same bytes are in use."""
    program = torch.export.export(pytorch_models.Updates().eval(), (zeros(1, 4),))
    graph = npumem_export.export_program(program.run_decompositions(), 'core')
    kinds = {t['name']: t['kind'] for t in graph['tensors']}
    ids = {t['name']: t['id'] for t in graph['tensors']}
    assert kinds['seen'] == kinds['cache'] == 'state', kinds
    writers = [o['type'] for o in graph['ops'] if ids['seen'] in o['outputs']]
    assert writers == ['copy'], writers


check('a program of core operators', by_core_operators)


def non_strict():
    """Names and operators are the same however the model was traced."""
    with open(os.path.join(GRAPHS, 'pytorch', 'residual.fused.json'), encoding='utf-8') as file:
        expected = json.load(file)
    got = npumem_export.export(pytorch_models.Residual(), (zeros(1, 8, 8, 8),), 'residual.fused',
                               strict=False, fused=True, source=SOURCE)
    assert got == expected, got


check('traced by running the code', non_strict)


def no_grad():
    """Code without gradients is a graph of its own in the program, and none in the file."""
    class Model(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x + 1
            return y * 2
    graph = npumem_export.export(Model(), (zeros(4),))
    assert [o['type'] for o in graph['ops']] == ['add', 'mul'], graph


check('code without gradients', no_grad)


# ---------------------------------------------------------------------- torchvision


def same_as_given(graph, given):
    """Types, attributes, wiring, sizes, kinds, shapes, and names but the input's."""
    def comparable(file):
        ids = {}
        for tensor in file['tensors']:
            if tensor['kind'] == 'input':
                ids.setdefault(tensor['id'], len(ids))
        rows = []
        for op in file['ops']:
            for tensor in op['inputs'] + op['outputs']:
                ids.setdefault(tensor, len(ids))
            attrs = {k: v for k, v in op['attrs'].items() if k != 'whole'}
            rows.append((op['name'], op['type'], [ids[t] for t in op['inputs']],
                         [ids[t] for t in op['outputs']], attrs))
        tensors = sorted((ids[t['id']], t['bytes'], t['kind'], t['shape'],
                          t['name'] if t['kind'] != 'input' else '') for t in file['tensors'])
        return rows, tensors
    got, expected = comparable(graph), comparable(given)
    for mine, theirs in zip(got, expected):
        equal('\n'.join(map(str, mine)), '\n'.join(map(str, theirs)))


def given_network(name, options, size):
    """A network of torchvision is what tests/graphs has of it."""
    model = getattr(networks, name.split('.')[0])(weights=None, **options)
    graph = npumem_export.export(model, (zeros(size),), fused=name.endswith('.fused'),
                                 element_bytes=1)
    with open(os.path.join(GRAPHS, name + '.json'), encoding='utf-8') as file:
        same_as_given(graph, json.load(file))


try:
    from torchvision import models as networks
except ImportError:
    networks = None
for case, more, shape in (
        ('squeezenet1_1.fused', {}, (1, 3, 224, 224)),
        ('mobilenet_v2.fused', {}, (1, 3, 224, 224)),
        ('resnet50', {}, (1, 3, 224, 224)),
        ('densenet121.fused', {}, (1, 3, 224, 224)),
        ('inception_v3.fused', {'init_weights': False}, (1, 3, 299, 299))):
    if networks is not None:
        check(f'network of torchvision: {case}', given_network, case, more, shape)
    else:
        skipped(f'network of torchvision: {case}', 'no python3-torchvision here')


# ---------------------------------------------------------------------- refusals


class Of(nn.Module):
    """A model of a function."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, *args):
        return self.function(self, *args)


def refused(sentence, make):
    """It is refused with exactly that sentence."""
    try:
        program = make()
        npumem_export.export_program(program)
    except npumem_export.Refused as refusal:
        equal(str(refusal), sentence)
    else:
        raise AssertionError('not refused')


def program_of(function, *args, training=False, **modules):
    """An exported program of a function."""
    def make():
        model = Of(function, **modules)
        return torch.export.export(model.train(training), args)
    return make


def dynamic():
    """A program whose first dimension may be any number."""
    return torch.export.export(Of(lambda self, x: x + 1), (zeros(4, 2),),
                               dynamic_shapes={'args': ({0: torch.export.Dim('rows')},)})


def counted():
    """A loop that counts with a Python number, which torch.export of 2.6 does not make."""
    program = torch.export.export(pytorch_models.Loop().eval(), (zeros(2, 4), zeros(2, 4)))
    loop = next(n for n in program.graph.nodes if 'while_loop' in str(n.target)
                and n.op == 'call_function')
    test, body, carried, others = loop.args
    loop.args = (test, body, (0, *carried[1:]), others)
    return program


def mapped(self, x):
    """An operator with a graph of its own that is neither loop nor branch."""
    from functorch.experimental.control_flow import map as each
    return each(lambda row: row + 1, x)


def decomposed():
    """A program of core operators that says at its end that it updates its input."""
    return torch.export.export(Of(lambda self, x: x.add_(1)), (zeros(4),)).run_decompositions()


FIXED = 'which is not known before the model runs: dynamic shapes are not supported, export the ' \
    'model with fixed sizes'
EVAL = 'is in training mode: call eval() of the model before it is exported'
BUFFERS = 'only buffers of the model may be written, or values that it has computed'
for case, words, maker in (
        ('a dimension that is not known', f"dimension 0 of 'args_0' is 's0', {FIXED}", dynamic),
        ('a size that values decide', f"dimension 0 of 'nonzero' is 'u0', {FIXED}",
         program_of(lambda self, x: x.nonzero(), zeros(4))),
        ('a number that values decide', f"number 'item' is 'u0', {FIXED}",
         program_of(lambda self, x, n: x * n.item(), zeros(4), torch.tensor(3))),
        ('batch normalisation in training', f"operator 'norm' (aten.batch_norm.default) {EVAL}",
         program_of(lambda self, x: self.norm(x), zeros(2, 3, 4, 4), training=True,
                    norm=nn.BatchNorm2d(3))),
        ('dropout in training', f"operator 'drop' (aten.dropout.default) {EVAL}",
         program_of(lambda self, x: self.drop(x), zeros(4), training=True, drop=nn.Dropout())),
        ('an input that is written',
         f"operator 'relu_' (aten.relu_.default) writes into input 'args_0': {BUFFERS}",
         program_of(lambda self, x: F.relu_(x), zeros(4))),
        ('an input that is written in the end', f"the model writes into input 'args_0': {BUFFERS}",
         decomposed),
        ('two values written at once', "operator '_foreach_add_' (aten._foreach_add_.Scalar) "
         'writes into 2 tensors that are there',
         program_of(lambda self, x: torch._foreach_add_([y := x + 1, z := x + 2], 1) or y + z,
                    zeros(4))),
        ('an operator with a graph', "operator 'map_impl' (map_impl) is not supported: of "
         'operators with graphs of their own, only cond and while_loop are',
         program_of(mapped, zeros(3, 4))),
        ('no elements', "tensor 'sum' has no elements: it is 0",
         program_of(lambda self, x: x[:, :0].sum(0), zeros(4, 4))),
        ('nine dimensions', "tensor 'add' has 9 dimensions: at most 8 can be written",
         program_of(lambda self, x: x.view(2, 1, 1, 1, 1, 1, 1, 1, 2) + 1, zeros(4))),
        ('a loop that counts with a number',
         "operator 'while_loop' (while_loop) carries 0, which is no tensor", counted)):
    check(f'refused: {case}', refused, words, maker)


# ---------------------------------------------------------------------- command line


def commands_agree():
    """A file of torch.export.save(), and a function of a module, give what export() gives."""
    program = torch.export.export(pytorch_models.Residual().eval(), (zeros(1, 8, 8, 8),))
    torch.export.save(program, 'residual.pt2')
    expected = npumem_export.export_program(program, 'residual', fused=True, element_bytes=1)
    out = says(0, '', '-f', '-e', '1', 'residual.pt2')
    assert json.loads(out) == expected, out
    out = says(0, '', '--fused', '--element-bytes', '1', '-n', 'residual', '-i', '1x8x8x8',
               'some_models:Residual')
    assert json.loads(out) == expected, out
    says(0, '', '-fe1', '-n', 'residual', '-o', 'out.json', 'some_models:with_inputs')
    with open('out.json', encoding='utf-8') as file:
        assert json.load(file) == expected
    says(0, '', '--non-strict', '-n', 'residual', '-o', 'out.json', '-i', '1x8x8x8:float64',
         'some_models:DOUBLE')
    with open('out.json', encoding='utf-8') as file:
        assert json.load(file)['dtype_bytes'] == 8


def loaded_is_the_same(name):
    """What a file of torch.export.save() has of loops, branches and updates."""
    model, args, options = pytorch_models.MODELS[name]
    program = torch.export.export(model().eval(), args())
    torch.export.save(program, 'loaded.pt2')
    loaded = torch.export.load('loaded.pt2')
    expected = npumem_export.export_program(program, name, **options)
    assert npumem_export.export_program(loaded, name, **options) == expected


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open('some_models.py', 'w', encoding='utf-8') as models:
        models.write(f'''import sys
sys.path.insert(0, {HERE!r})
import torch
from pytorch_models import Residual
DOUBLE = Residual().double()
NUMBER = 3
def with_inputs(): return Residual(), (torch.zeros(1, 8, 8, 8),)
def number(): return 3
class Raises(torch.nn.Module):
    def forward(self, x): raise ValueError('not today')
''')
    check('command line: file and module', commands_agree)
    for case in ('loop', 'branch', 'updates', 'views'):
        check(f'from a file: {case}', loaded_is_the_same, case)
    with open('broken.pt2', 'w', encoding='utf-8') as broken:
        broken.write('no archive')
    for case, words, line in (
            ('neither file nor module', "'model' is neither a .pt2 file nor a model of a Python "
             'module (MODULE:NAME)', ['model']),
            ('no such file', "absent.pt2: [Errno 2] No such file or directory: 'absent.pt2'",
             ['absent.pt2']),
            ('a broken file', 'broken.pt2: File is not a zip file', ['broken.pt2']),
            ('no such module', "absent:Model: No module named 'absent'", ['absent:Model']),
            ('no such model', "some_models:absent: module 'some_models' has no attribute 'absent'",
             ['some_models:absent']),
            ('no model', 'some_models:number makes no torch.nn.Module, nor one and its inputs, '
             'but int', ['some_models:number']),
            ('neither model nor function', 'some_models:NUMBER is no torch.nn.Module, nor a '
             'function that makes one, but int', ['some_models:NUMBER']),
            ('a size', "--input '1x0' is no size and type such as 1x3x224x224 or 1x16:int64",
             ['-i', '1x0', 'some_models:Residual']),
            ('a type', "--input '1:int77' is no size and type such as 1x3x224x224 or 1x16:int64",
             ['-i', '1:int77', 'some_models:Residual']),
            ('inputs of a file', '--input is for models of a Python module: a .pt2 file has its '
             'inputs', ['-i', '1', 'residual.pt2']),
            ('inputs of a model that has some', '--input is for models without inputs of their '
             'own: some_models:with_inputs has some', ['-i', '1', 'some_models:with_inputs']),
            ('what the model raises', 'some_models:Raises: torch.export: not today',
             ['--non-strict', '-i', '1', 'some_models:Raises']),
            ('output', "[Errno 2] No such file or directory: 'absent/out.json'",
             ['-o', 'absent/out.json', 'residual.pt2'])):
        check(f'command line refuses: {case}', says, 1, f'npumem-export: {words}\n', *line)
    os.chdir('/')
end()
