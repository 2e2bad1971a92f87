# SPDX-License-Identifier: MIT
"""The command line of npumem-export."""
from __future__ import annotations

import argparse
import importlib
import operator
import os
import re
import sys
from typing import Any, Sequence

from . import Refused, __version__, export_program, save, write


def check_torch() -> None:
    """PyTorch is there, and has what is needed of it."""
    try:
        import torch.export
        if not hasattr(torch.export, 'load'):
            raise ImportError
    except ImportError:
        raise Refused('PyTorch 2.6 or later is needed, which has torch.export (Debian 13: '
                      'apt-get install python3-torch)') from None


def input_of(argument: str) -> Any:
    """A tensor by its size and type: 1x3x224x224, 1x16:int64, or scalar:bool."""
    import torch

    match = re.fullmatch(r'(scalar|[1-9]\d*(?:x[1-9]\d*)*)(?::(\w+))?', argument)
    dtype = getattr(torch, match.group(2) or 'float32', None) if match else None
    if not isinstance(dtype, torch.dtype):
        raise Refused(f'--input \'{argument}\' is no size and type such as 1x3x224x224 or '
                      '1x16:int64')
    sizes = [] if match.group(1) == 'scalar' else [int(d) for d in match.group(1).split('x')]
    return torch.zeros(sizes, dtype=dtype)


def load(model: str, inputs: Sequence[str], strict: bool) -> Any:
    """The program in a .pt2 file, or of a model that a Python module has."""
    import torch.export

    if model.endswith('.pt2'):
        if inputs:
            raise Refused('--input is for models of a Python module: a .pt2 file has its inputs')
        try:
            return torch.export.load(model)
        except Exception as error:  # whatever unpacking and PyTorch raise
            raise Refused(f'{model}: {error}') from None
    module_name, colon, name = model.partition(':')
    if not colon:
        raise Refused(f'\'{model}\' is neither a .pt2 file nor a model of a Python module '
                      '(MODULE:NAME)')
    sys.path.insert(0, os.getcwd())
    try:
        made = operator.attrgetter(name)(importlib.import_module(module_name))
    except (ImportError, AttributeError) as error:
        raise Refused(f'{model}: {error}') from None
    if not isinstance(made, torch.nn.Module):
        if not callable(made):
            raise Refused(f'{model} is no torch.nn.Module, nor a function that makes one, but '
                          f'{type(made).__name__}')
        made = made()
    args = tuple(input_of(i) for i in inputs)
    if isinstance(made, tuple):
        if inputs:
            raise Refused(f'--input is for models without inputs of their own: {model} has some')
        made, args = made
    if not isinstance(made, torch.nn.Module):
        raise Refused(f'{model} makes no torch.nn.Module, nor one and its inputs, but '
                      f'{type(made).__name__}')
    try:
        return torch.export.export(made.eval(), args, strict=strict)
    except Exception as error:  # whatever the model or PyTorch raises
        raise Refused(f'{model}: torch.export: {str(error).strip().splitlines()[0]}') from None


def parser() -> argparse.ArgumentParser:
    """The command line."""
    out = argparse.ArgumentParser(
        prog='npumem-export', description='Writes a PyTorch model as graph JSON, which npumemctl '
        'plans.')
    out.add_argument('model', metavar='MODEL', help='a file of torch.export.save() (.pt2), or '
                     'MODULE:NAME: a torch.nn.Module of a Python module, or a function that makes '
                     'one, or one and a tuple of its inputs')
    out.add_argument('-i', '--input', action='append', default=[], metavar='SIZE[:TYPE]',
                     help='an input of a model by its size, such as 1x3x224x224 or 1x16:int64')
    out.add_argument('-o', '--output', metavar='FILE', help='where to write (standard output)')
    out.add_argument('-n', '--name', help='name of the graph (that of the file or model)')
    out.add_argument('-f', '--fused', action='store_true', help='activations are part of the '
                     'operator before them, and no memory is spent on orders of elements')
    out.add_argument('-e', '--element-bytes', type=int, choices=(1, 2, 4, 8), metavar='BYTES',
                     help='bytes of a number that is a float in the model: 1 for int8')
    out.add_argument('--non-strict', action='store_true', help='trace by running the Python code: '
                     'takes more models, but no loops')
    out.add_argument('-V', '--version', action='version',
                     version=f'npumem-export {__version__}')
    return out


def main() -> int:
    """npumem-export; returns its exit status."""
    args = parser().parse_args()
    try:
        check_torch()
        program = load(args.model, args.input, not args.non_strict)
        stem = re.sub(r'\.pt2$', '', os.path.basename(args.model.rpartition(':')[2]))
        graph = export_program(program, args.name or stem, fused=args.fused,
                               element_bytes=args.element_bytes)
        if args.output:
            save(graph, args.output)
        else:
            write(graph, sys.stdout)
    except (Refused, OSError) as error:
        print(f'npumem-export: {error}', file=sys.stderr)
        return 1
    return 0
