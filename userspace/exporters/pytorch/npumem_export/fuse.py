# SPDX-License-Identifier: MIT
"""What compilers fuse: no pass of memory for an activation, or for another order of elements."""
from __future__ import annotations

import collections
from typing import Iterator

from .graph import Op, Tensor

# Activations that compilers compute while they write the output of what stands before, and that.
FUSED = ('relu', 'relu6', 'hardswish', 'prelu')
FUSED_INTO = ('conv1d', 'conv2d', 'conv3d', 'linear', 'batchnorm', 'add')


def all_ops(ops: list[Op]) -> Iterator[Op]:
    """Operators, and those in loops and branches, in the order of the file."""
    for op in ops:
        yield op
        for inner in op.lists():
            yield from all_ops(inner)


def replace(ops: list[Op], old: Tensor, new: Tensor) -> None:
    """Whoever reads a tensor reads another one."""
    for op in all_ops(ops):
        op.inputs = [new if t is old else t for t in op.inputs]
        op.partial = [new if t is old else t for t in op.partial]
        for carry in op.carries:
            carry[1:] = [new if t is old else t for t in carry[1:]]
        for _, results in op.arms:
            results[:] = [new if t is old else t for t in results]


def fuse(ops: list[Op]) -> None:
    """What compilers do: no pass of memory for an activation, or for another order of elements."""
    readers: collections.Counter[int] = collections.Counter(
        id(t) for op in all_ops(ops) for t in op.reads())
    handed = {id(t) for op in all_ops(ops) for t in op.handed()}

    def fuse_list(here: list[Op]) -> None:
        writers: dict[int, Op] = {}
        # A branch goes by what the operator before it has written, a loop by its test's last.
        deciding = {id(op) for op, then in zip(here, [*here[1:], None])
                    if then is None or then.type == 'if'}
        for op in list(here):
            for inner in op.lists():
                fuse_list(inner)
            first = op.inputs[0] if op.inputs else None
            before = writers.get(id(first))
            if op.type == 'copy' and before is not None and not op.partial and (
                    op.outputs[0].kind == 'activation' and first.kind != 'state'
                    and id(op) not in deciding and op.outputs[0].bytes == first.bytes
                    and id(op.outputs[0]) not in handed):
                for reader in all_ops(ops):
                    if op.outputs[0] in reader.inputs and op.attrs.get('whole'):
                        reader.attrs['whole'] = True
                readers[id(first)] += readers[id(op.outputs[0])] - 1
                replace(ops, op.outputs[0], first)
                here.remove(op)
            elif op.type in FUSED and before is not None and before.type in FUSED_INTO and (
                    readers[id(first)] == 1 and first.kind == 'activation' and not op.partial
                    and 'fused_act' not in before.attrs):
                before.attrs['fused_act'] = op.type
                before.inputs += op.inputs[1:]
                first.kind = op.outputs[0].kind
                readers[id(first)] = readers[id(op.outputs[0])]
                replace(ops, op.outputs[0], first)
                here.remove(op)
            else:
                writers.update((id(t), op) for t in op.outputs)
    fuse_list(ops)
