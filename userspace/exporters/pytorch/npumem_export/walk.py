# SPDX-License-Identifier: MIT
"""The walk through an exported program: whose bytes each operator reads, and whose it writes."""
from __future__ import annotations

import collections
import dataclasses
import operator
from typing import Any, Callable, Iterable, Optional, Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .flow import Flow
from .graph import Op, Refused, Tensor
from .nodes import (arguments, copied_in_parts, flat, is_aten, known, lookup, nodes_of, path_of,
                    tensors_in, text)
from .operators import COPIES, Operators


@dataclasses.dataclass(eq=False)
class Storage:
    """Bytes that views look at. An update in place gives them a new tensor."""
    tensor: Tensor
    value: Any  # torch.Tensor, which keeps the storage's identity
    scope: int  # the list of operators that writes it: 0 for the model's own


def squeezed(shape: Iterable[int]) -> list[int]:
    """A shape without dimensions of one element."""
    return [d for d in shape if d != 1]


class Walk(Operators, Flow):
    """Goes through an exported program once and collects tensors and operators."""

    def __init__(self, program: Any, element_bytes: Optional[int], warn: Callable[[str], None]):
        self.program = program
        self.element_bytes = element_bytes
        self.warn = warn
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.storages: dict[int, Storage] = {}
        self.values: list[Any] = []  # kept, so that no identity is used twice
        self.names: collections.Counter[str] = collections.Counter()
        self.inputs: list[Tensor] = []
        self.ops: list[Op] = []
        self.scope = 0
        self.scopes = 0
        self.warned: set[str] = set()
        self.in_parts: dict[Any, Any] = {}
        self.slices: dict[tuple[Tensor, int, tuple[int, ...]], Storage] = {}

    def unique(self, name: str) -> str:
        """The name, with a number if there is one like it."""
        count = self.names[name]
        self.names[name] += 1
        return f'{name}#{count}' if count else name

    def tensor(self, name: str, value: Any, kind: str,
               shape: Optional[Sequence[int]] = None) -> Tensor:
        """A new tensor of the graph for a value."""
        shape = list(value.shape if shape is None else shape)
        if not all(shape):
            raise Refused(f'tensor \'{name}\' has no elements: it is {"x".join(map(str, shape))}')
        if len(shape) > 8:
            raise Refused(f'tensor \'{name}\' has {len(shape)} dimensions: at most 8 can be '
                          'written')
        element = value.element_size()
        if self.element_bytes and value.dtype.is_floating_point:
            element = self.element_bytes
        return Tensor(self.unique(name), shape, element, kind)

    def own(self, tensor: Tensor, value: Any) -> None:
        """From here on the value's bytes are the tensor's."""
        self.values.append(value)
        self.storages[value.untyped_storage()._cdata] = Storage(tensor, value, self.scope)

    def storage(self, value: Any) -> Optional[Storage]:
        """Whose bytes a value looks at; none if they are new."""
        return self.storages.get(value.untyped_storage()._cdata)

    def fake(self, value: Any, name: str) -> Any:
        """A value of the same size and order of bytes, with bytes that nobody has."""
        known(value, name)
        with self.mode:
            return torch.empty_strided(tuple(value.shape), tuple(value.stride()),
                                       dtype=value.dtype, device='cpu')

    def read(self, op: Op, value: Any, tiled: bool) -> None:
        """The operator reads a value, by whatever view; it is whole if tiles would not fit."""
        storage = self.sliced(self.storages[value.untyped_storage()._cdata], value)
        base, tensor = storage.value, storage.tensor
        op.inputs.append(tensor)
        spread_out = any(s == 0 and d > 1 for s, d in zip(value.stride(), value.shape))
        if not spread_out and value.numel() < base.numel():
            if tensor not in op.partial:
                op.partial.append(tensor)
            op.attrs['whole'] = True
        elif tiled and not self.plain(op, value, base):
            op.attrs['whole'] = True

    def sliced(self, storage: Storage, value: Any) -> Storage:
        """A slice of a parameter is a parameter: the rest may be elsewhere."""
        if storage.tensor.kind != 'parameter' or not value.is_contiguous() or (
                value.numel() >= storage.value.numel()):
            return storage
        start = value.storage_offset()
        key = (storage.tensor, start, tuple(value.shape))
        if key not in self.slices:
            name = f'{storage.tensor.name}[{start}:{start + value.numel()}]'
            with self.mode:
                base = torch.empty(tuple(value.shape), dtype=value.dtype)
            self.slices[key] = Storage(self.tensor(name, base, 'parameter'), base, 0)
        return self.slices[key]

    def transpose(self, value: Any) -> None:
        """A matrix of parameters is written [in, out]; once, however often it is read."""
        storage = self.storage(value)
        if storage is None or storage.tensor.kind != 'parameter' or value.dim() != 2:
            return
        storage = self.sliced(storage, value)
        if storage.tensor.shape == list(storage.value.shape):
            storage.tensor.shape = storage.tensor.shape[::-1]

    @staticmethod
    def plain(op: Op, value: Any, base: Any) -> bool:
        """Whether a part of the view is that part of the tensor."""
        if squeezed(value.shape) == squeezed(base.shape) and [
                s for s, d in zip(value.stride(), value.shape) if d != 1] == [
                s for s, d in zip(base.stride(), base.shape) if d != 1]:
            return True
        if not (value.is_contiguous() and base.is_contiguous()):
            return False
        if op.type == 'linear' and base.dim() >= 4:
            return True  # which reads all of such an input
        return (max(value.dim(), base.dim()) < 4 and value.dim() > 0 and base.dim() > 0
                and value.shape[-1] == base.shape[-1])

    def add(self, node: Any, kind: str, values: Sequence[Any], results: Sequence[Any],
            attrs: Optional[dict[str, Any]] = None, tiled: bool = True) -> Op:
        """An operator that reads @values and writes @results, to bytes of their own."""
        path = path_of(node)
        op = Op(self.unique('operator ' + (path or kind))[len('operator '):], kind,
                attrs=dict(attrs or {}))
        for value in values:
            self.read(op, value, tiled)
        for result in results:
            tensor = self.tensor(f'{path}.{kind}' if path else kind, result, 'activation')
            op.outputs.append(tensor)
            self.own(tensor, result)
        self.ops.append(op)
        return op

    def update(self, node: Any, kind: str, target: Any, values: list[Any],
               attrs: dict[str, Any]) -> None:
        """An operator that writes into bytes that are there: all of them, or a part."""
        storage = self.storages[target.untyped_storage()._cdata]
        tensor = storage.tensor
        if tensor.kind in ('input', 'parameter'):
            raise Refused(f'{text(node)} writes into {tensor.kind} \'{tensor.name}\': only buffers '
                          'of the model may be written, or values that it has computed')
        # PyTorch refuses loops and branches that write into what is outside of them.
        assert storage.scope == self.scope
        path = path_of(node)
        op = Op(self.unique('operator ' + (path or kind))[len('operator '):], kind,
                attrs=dict(attrs))
        part = target.numel() < storage.value.numel()
        replaced = kind in ('copy', 'fill') and not part
        if replaced:
            values = [v for v in values if v is not target]
        elif part and values[:1] != [target]:
            values = [target, *[v for v in values if v is not target]]
        for value in values:
            self.read(op, value, True)
        if part:
            # What is not written stays as it was, so that all of the tensor is read.
            op.partial = [t for t in op.partial if t is not tensor]
            op.attrs['whole'] = True
        if tensor.kind == 'state':
            op.outputs.append(tensor)
        else:
            if not replaced:
                op.attrs['inplace'] = True
            new = self.tensor(f'{path}.{kind}' if path else kind, storage.value, 'activation',
                              tensor.shape)
            op.outputs.append(new)
            storage.tensor = new
        self.ops.append(op)

    def run(self) -> None:
        """The model's own list: inputs and parameters, operators, outputs."""
        signature = self.program.graph_signature
        written = set(signature.buffers_to_mutate.values()) | {
            name for node, name in self.buffers() if self.is_written(node)}
        values = {}
        for node, spec in zip(self.placeholders(), signature.input_specs):
            name = spec.target or node.name
            value = node.meta.get('val')
            if not isinstance(value, torch.Tensor):
                values[node] = value
                continue
            kind = 'parameter'
            if spec.kind.name == 'USER_INPUT':
                kind = 'input'
            elif spec.kind.name == 'BUFFER' and spec.target in written:
                kind = 'state'
            value = self.fake(value, name)
            tensor = self.tensor(name, value, kind)
            self.own(tensor, value)
            values[node] = value
            if kind == 'input':
                self.inputs.append(tensor)
        results = self.walk(self.program.graph_module, values)
        output = next(n for n in self.program.graph.nodes if n.op == 'output')
        for spec, value in zip(signature.output_specs, list(flat(results))):
            if spec.kind.name == 'BUFFER_MUTATION':
                self.keep(output, spec.target, value, values)
            elif spec.kind.name == 'USER_INPUT_MUTATION':
                raise Refused(f'the model writes into input \'{spec.target}\': only buffers of the '
                              'model may be written, or values that it has computed')
            elif isinstance(value, torch.Tensor):
                self.give(output, value)

    def placeholders(self) -> list[Any]:
        """Nodes of inputs, parameters and buffers."""
        return [n for n in self.program.graph.nodes if n.op == 'placeholder']

    def buffers(self) -> list[tuple[Any, str]]:
        """Nodes of the model's buffers, with their names."""
        return [(n, s.target) for n, s in zip(self.placeholders(),
                                              self.program.graph_signature.input_specs)
                if s.kind.name == 'BUFFER']

    @staticmethod
    def is_written(node: Any) -> bool:
        """Whether some operator writes into a buffer, directly or by a view."""
        todo, seen = [node], set()
        while todo:
            at = todo.pop()
            for user in at.users:
                schema = getattr(user.target, '_schema', None)
                if schema is None or user in seen:
                    continue
                seen.add(user)
                for argument, given in zip(schema.arguments, user.args):
                    if given is not at or argument.alias_info is None:
                        continue
                    if argument.alias_info.is_write:
                        return True
                    todo.append(user)
        return False

    def keep(self, output: Any, target: str, value: Any, values: dict[Any, Any]) -> None:
        """A buffer takes the value that a program without updates in place gives it."""
        node = next(n for n, name in self.buffers() if name == target)
        if self.storage(value) is self.storage(values[node]):
            return
        self.update(output, 'copy', values[node], [value], {})

    def give(self, output: Any, value: Any) -> None:
        """A value becomes an output of the graph: all bytes that it looks at."""
        storage = self.storage(value)
        if storage is None or storage.tensor.kind not in ('activation', 'output'):
            with self.mode:
                copied = torch.empty_like(value)
            self.add(output, 'copy', [value], [copied])
            storage = self.storage(copied)
        storage.tensor.kind = 'output'

    def walk(self, module: Any, values: dict[Any, Any]) -> Any:
        """Run a graph of nodes; what its inputs are is in @values already. Gives its results."""
        for node in module.graph.nodes:
            if node.op == 'placeholder' or node in values:
                continue
            if node.op == 'output':
                return lookup(node.args[0], values)
            if node.op == 'get_attr':
                value = operator.attrgetter(node.target)(module)
                if isinstance(value, torch.Tensor):
                    fake = self.fake(value, node.target)
                    self.own(self.tensor(node.target, fake, 'parameter'), fake)
                    value = fake
                values[node] = value
            else:
                assert node.op == 'call_function'
                values[node] = self.call(node, values)
        return None

    def call(self, node: Any, values: dict[Any, Any]) -> Any:
        """One node: a view, an operator, a loop or a branch."""
        for value in flat(node.meta.get('val')):
            known(value, node.name)
        name = getattr(node.target, '__name__', str(node.target))
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            args = lookup(list(node.args), values)
            if name == 'cond':
                return self.branch(node, *args)
            if name == 'while_loop':
                return self.loop(node, *args)
            if name == 'wrap_with_set_grad_enabled':
                return self.walk(args[1], dict(zip(nodes_of(args[1], 'placeholder'), args[2:])))
            raise Refused(f'{text(node)} is not supported: of operators with graphs of their own, '
                          'only cond and while_loop are')
        args, kwargs = lookup(list(node.args), values), lookup(dict(node.kwargs), values)
        folded = self.folded(node, values)
        if folded is not None:
            return folded
        part = self.part_of_copy(node, values)
        if part is not None:
            return part
        with self.mode:
            if is_aten(node, 'view'):
                # Of attention, whose kernel in PyTorch happens to write another order.
                result = torch.reshape(*args)
            else:
                result = node.target(*args, **kwargs)
        if not isinstance(node.target, torch._ops.OpOverload):
            return result
        kind = node.target._schema.name.split('::')[1]
        given = arguments(node.target, args, kwargs)
        written = tensors_in([given[a.name] for a in node.target._schema.arguments
                              if a.alias_info is not None and a.alias_info.is_write])
        fresh = [t for t in tensors_in(result) if self.storage(t) is None]
        if not fresh and (not written or given.get('train') is False):
            return result
        if kind == 'scaled_dot_product_attention':
            return self.attention(node, given)
        if not written and kind in COPIES and copied_in_parts(node):
            self.in_parts[node] = tensors_in(given)[0]
            return result
        type_, attrs, reads, tiled = self.describe(node, kind, given)
        if not written:
            self.add(node, type_, reads, fresh, attrs, tiled)
        elif len(written) == 1:
            self.update(node, type_, written[0], reads, attrs)
        else:
            raise Refused(f'{text(node)} writes into {len(written)} tensors that are there')
        return result

    def part_of_copy(self, node: Any, values: dict[Any, Any]) -> Any:
        """A part of a copy of which only parts are read: a copy of that part."""
        if not node.args or node.args[0] not in self.in_parts:
            return None
        with self.mode:
            part = node.target(self.in_parts[node.args[0]], *node.args[1:])
            result = torch.empty(tuple(part.shape), dtype=part.dtype)
        self.add(node, 'copy', [part], [result])
        return result
