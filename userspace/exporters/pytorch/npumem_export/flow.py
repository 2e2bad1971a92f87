# SPDX-License-Identifier: MIT
"""Loops and branches, whose operators are graphs of their own."""
from __future__ import annotations

from typing import Any, Sequence

import torch

from .graph import Op, Refused, Tensor
from .nodes import flat, nodes_of, path_of, text


class Flow:
    """The part of a walk that knows loops and branches."""

    def sublist(self, module: Any, values: Sequence[Any]) -> tuple[list[Op], list[Any], int]:
        """The operators of a graph that a loop or branch runs, its results, and its number."""
        outer, scope = self.ops, self.scope
        self.scopes += 1
        self.ops, self.scope = [], self.scopes
        try:
            results = self.walk(module, dict(zip(nodes_of(module, 'placeholder'), values)))
            return self.ops, list(flat(results)), self.scope
        finally:
            self.ops, self.scope = outer, scope

    def handed(self, node: Any, ops: list[Op], value: Any, scope: int) -> Tensor:
        """The tensor that a list of operators hands on: one of its own, all of it, in order."""
        storage = self.storage(value)
        if storage.scope == scope and self.is_all(storage, value):
            return storage.tensor
        return self.copied(node, ops, value)

    @staticmethod
    def is_all(storage: Any, value: Any) -> bool:
        """Whether a value is all of its bytes in order, and a loop or branch may hand them on."""
        return (value.is_contiguous() and value.numel() == storage.value.numel()
                and storage.tensor.kind != 'state')

    def copied(self, node: Any, ops: list[Op], value: Any) -> Tensor:
        """A copy of a value, as the last operator of a list."""
        with self.mode:
            copy = torch.empty(tuple(value.shape), dtype=value.dtype)
        outer, self.ops = self.ops, ops
        try:
            return self.add(node, 'copy', [value], [copy]).outputs[0]
        finally:
            self.ops = outer

    def decide(self, node: Any, ops: list[Op], value: Any) -> None:
        """What decides is what the last operator writes: there the runtime finds it."""
        if not ops or ops[-1].lists() or ops[-1].outputs != [self.storage(value).tensor]:
            self.copied(node, ops, value)

    def branch(self, node: Any, chosen: Any, yes: Any, no: Any, operands: Sequence[Any]) -> Any:
        """torch.cond: two arms."""
        self.decide(node, self.ops, chosen)
        arms = [self.sublist(module, operands) for module in (yes, no)]
        path = path_of(node)
        op = Op(self.unique('operator ' + (path or 'cond'))[len('operator '):], 'if')
        results = []
        for like in arms[0][1]:
            with self.mode:
                result = torch.empty(tuple(like.shape), dtype=like.dtype)
            tensor = self.tensor(f'{path}.cond' if path else 'cond', result, 'activation')
            op.outputs.append(tensor)
            results.append(result)
        for ops, values, scope in arms:
            op.arms.append((ops, [self.handed(node, ops, v, scope) for v in values]))
        for tensor, result in zip(op.outputs, results):
            self.own(tensor, result)
        self.ops.append(op)
        return results

    def loop(self, node: Any, test: Any, body: Any, carried: Sequence[Any],
             others: Sequence[Any] = ()) -> Any:
        """while_loop: what decides, what is done, and what goes round."""
        path = path_of(node)
        op = Op(self.unique('operator ' + (path or 'loop'))[len('operator '):], 'loop')
        values = []
        for value in carried:
            if not isinstance(value, torch.Tensor):
                raise Refused(f'{text(node)} carries {value!r}, which is no tensor')
            storage = self.storage(value)
            init = (storage.tensor if self.is_all(storage, value) else
                    self.copied(node, self.ops, value))
            with self.mode:
                own = torch.empty(tuple(value.shape), dtype=value.dtype)
            to = self.tensor(f'{path}.loop' if path else 'loop', own, 'activation')
            self.own(to, own)
            values.append(own)
            op.carries.append([to, init, to])
        op.test, chosen, _ = self.sublist(test, [*values, *others])
        self.decide(node, op.test, chosen[0])
        op.body, results, scope = self.sublist(body, [*values, *others])
        heads = [carry[0] for carry in op.carries]
        for carry, result in zip(op.carries, results):
            storage = self.storage(result)
            # What came in may go round as it is, by whatever name.
            if storage.tensor in heads and self.is_all(storage, result):
                carry[2] = storage.tensor
            else:
                carry[2] = self.handed(node, op.body, result, scope)
        if not op.body:
            op.carries[0][2] = self.copied(node, op.body, results[0])
        self.ops.append(op)
        return values
