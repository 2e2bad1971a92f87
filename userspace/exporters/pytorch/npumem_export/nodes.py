# SPDX-License-Identifier: MIT
"""Nodes of exported programs: what they are called, where they stand, what they are given."""
from __future__ import annotations

import re
from typing import Any, Iterator, Sequence

import torch

from .graph import Refused


def flat(values: Any) -> Iterator[Any]:
    """What is in lists, tuples and dictionaries, in order."""
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from flat(value)
    elif isinstance(values, dict):
        yield from flat(list(values.values()))
    else:
        yield values


def tensors_in(values: Any) -> list[Any]:
    """The tensors among arguments or results."""
    return [v for v in flat(values) if isinstance(v, torch.Tensor)]


def known(value: Any, name: str) -> None:
    """Refuse a size that is not known before the model runs."""
    sizes = value.shape if isinstance(value, torch.Tensor) else [value]
    for i, size in enumerate(sizes):
        if isinstance(size, torch.SymInt):
            where = f'dimension {i} of \'{name}\'' if isinstance(value, torch.Tensor) else (
                f'number \'{name}\'')
            raise Refused(f'{where} is \'{size}\', which is not known before the model runs: '
                          'dynamic shapes are not supported, export the model with fixed sizes')


def nodes_of(module: Any, op: str) -> list[Any]:
    """Nodes of a graph of one sort."""
    return [n for n in module.graph.nodes if n.op == op]


def lookup(args: Any, values: dict[Any, Any]) -> Any:
    """Arguments with the values of nodes in place of them."""
    if isinstance(args, torch.fx.Node):
        return values[args]
    if isinstance(args, (list, tuple)):
        return type(args)(lookup(a, values) for a in args)
    if isinstance(args, dict):
        return {k: lookup(a, values) for k, a in args.items()}
    return args


def arguments(target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of an operator by name, with those that are not given."""
    given = {}
    for i, argument in enumerate(target._schema.arguments):
        given[argument.name] = (args[i] if i < len(args) else
                                kwargs.get(argument.name, argument.default_value))
    return given


def is_aten(node: Any, name: str) -> bool:
    """Whether a node is an ATen operator of that name."""
    schema = getattr(getattr(node, 'target', None), '_schema', None)
    return schema is not None and schema.name == 'aten::' + name


def path_of(node: Any) -> str:
    """The module that a node is in, as the model calls it; empty for the model itself."""
    stack = node.meta.get('nn_module_stack') or {}
    path = list(stack.values())[-1][0] if stack else ''
    # So TorchDynamo writes what a model that is none of the user's own classes has.
    while match := re.fullmatch(r"getattr\((.*), '(\w*)'\)(.*)", path):
        path = f'{match.group(1)}.{match.group(2)}{match.group(3)}'
    path = re.sub(r"^L\['\w*'\]\.?", '', path)
    return re.sub(r"\['?(\w*)'?\]", r'.\1', path)


def text(node: Any) -> str:
    """An operator in a sentence."""
    return f'operator \'{path_of(node) or node.name}\' ({node.target})'


def copied_in_parts(node: Any) -> bool:
    """Whether only single indices are read of a copy, each once, and of what it copies nothing."""
    parts = [(u.args[1], u.args[2]) for u in node.users if is_aten(u, 'select')]
    if not parts or len(parts) != len(node.users) or len(set(parts)) != len(parts) or (
            len({dim for dim, _ in parts}) != 1):
        return False
    at = node
    while True:
        schema = getattr(at.target, '_schema', None)
        if schema is None or not at.args or not isinstance(at.args[0], torch.fx.Node):
            return False
        if at is not node and schema.arguments[0].alias_info is None:
            return True
        at = at.args[0]
        if len(at.users) != 1:
            return False
