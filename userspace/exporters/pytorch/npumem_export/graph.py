# SPDX-License-Identifier: MIT
"""Tensors and operators of a graph, and how they are written as graph JSON."""
from __future__ import annotations

import collections
import dataclasses
import json
import math
import os
from typing import Any, Iterable, Iterator, Union


class Refused(Exception):
    """A model that cannot be written as graph JSON; the sentence says what of it, and why."""


@dataclasses.dataclass(eq=False)
class Tensor:
    """A tensor of the graph: bytes of its own."""
    name: str
    shape: list[int]
    element: int
    kind: str

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.element


@dataclasses.dataclass(eq=False)
class Op:
    """An operator of the graph, or a loop or branch with operators in it."""
    name: str
    type: str
    inputs: list[Tensor] = dataclasses.field(default_factory=list)
    outputs: list[Tensor] = dataclasses.field(default_factory=list)
    attrs: dict[str, Any] = dataclasses.field(default_factory=dict)
    partial: list[Tensor] = dataclasses.field(default_factory=list)
    test: list['Op'] = dataclasses.field(default_factory=list)
    body: list['Op'] = dataclasses.field(default_factory=list)
    carries: list[list[Tensor]] = dataclasses.field(default_factory=list)  # to, init, from
    arms: list[tuple[list['Op'], list[Tensor]]] = dataclasses.field(default_factory=list)

    def lists(self) -> list[list['Op']]:
        """The lists of operators in it, in the order in which they stand in the file."""
        return [ops for ops in (self.test, self.body, *(ops for ops, _ in self.arms)) if ops]

    def handed(self) -> Iterator[Tensor]:
        """Tensors whose values a loop or branch takes over, one at a time."""
        for _, init, last in self.carries:
            yield from (init, last)
        for _, results in self.arms:
            yield from results

    def reads(self) -> Iterator[Tensor]:
        """Tensors that it reads, or whose values it takes over, one at a time."""
        yield from self.inputs
        yield from self.handed()


class Writer:
    """Numbers tensors and operators, and makes JSON of them."""

    def __init__(self, inputs: Iterable[Tensor], ops: list[Op]):
        self.ids: dict[int, int] = {}
        self.tensors: list[Tensor] = []
        self.count = 0
        for tensor in inputs:
            self.id(tensor)
        self.ops = [self.op(op) for op in ops]

    def id(self, tensor: Tensor) -> int:
        """The id of a tensor; its first use gives it one."""
        if id(tensor) not in self.ids:
            self.ids[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return self.ids[id(tensor)]

    def op(self, op: Op) -> dict[str, Any]:
        """An operator, a loop or a branch."""
        out: dict[str, Any] = {'id': self.count, 'name': op.name, 'type': op.type}
        self.count += 1
        if op.type == 'loop':
            out['carries'] = [{'to': self.id(to), 'init': self.id(init)}
                              for to, init, _ in op.carries]
            out['min_iterations'] = 0
            out['test'] = [self.op(o) for o in op.test]
            out['body'] = [self.op(o) for o in op.body]
            for carry, (_, _, last) in zip(out['carries'], op.carries):
                carry['from'] = self.id(last)
        elif op.type == 'if':
            out['arms'] = [{'ops': [self.op(o) for o in ops],
                            'outputs': [self.id(t) for t in results]} for ops, results in op.arms]
            out['outputs'] = [self.id(t) for t in op.outputs]
        else:
            out['inputs'] = [self.id(t) for t in op.inputs]
            out['outputs'] = [self.id(t) for t in op.outputs]
            out['attrs'] = dict(op.attrs)
            if op.partial:
                out['attrs']['partial_inputs'] = [self.id(t) for t in op.partial]
        return out

    def graph(self, name: str, source: str, params: int) -> dict[str, Any]:
        """The whole file."""
        sizes = collections.Counter(t.element for t in self.tensors)
        usual = sizes.most_common(1)[0][0] if sizes else 4
        tensors = []
        for i, t in enumerate(self.tensors):
            tensors.append({'id': i, 'name': t.name, 'shape': t.shape, 'bytes': t.bytes,
                            'kind': t.kind})
            if t.element != usual:
                tensors[-1]['dtype_bytes'] = t.element
        return {'name': name, 'source': source, 'dtype_bytes': usual, 'model_params': params,
                'tensors': tensors, 'ops': self.ops}


def save(graph: dict[str, Any], path: Union[str, os.PathLike[str]]) -> None:
    """Write graph JSON to a file, one tensor and one operator a line."""
    with open(path, 'w', encoding='utf-8') as file:
        write(graph, file)


def write(graph: dict[str, Any], file: Any) -> None:
    """Write graph JSON to what is open."""
    fields = []
    for key, value in graph.items():
        if key in ('tensors', 'ops'):
            lines = ',\n'.join(json.dumps(v, separators=(',', ':')) for v in value)
            fields.append(f'"{key}":[\n{lines}]')
        else:
            fields.append(f'"{key}":{json.dumps(value)}')
    file.write('{' + ',\n'.join(fields) + '}\n')
