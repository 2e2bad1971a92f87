# SPDX-License-Identifier: MIT
"""What each operator of ATen is in graph JSON: its type, its attributes, what it reads."""
from __future__ import annotations

import math
import re
from typing import Any, Sequence

import torch

from .graph import Refused
from .nodes import arguments, is_aten, path_of, tensors_in, text

# Operators of ATen by their type in graph JSON. Each element of the output is made of the elements
# at the same place, so that the type may be planned in tiles.
ELEMENTWISE = {
    **{name: name for name in (
        'abs add ceil clamp cos div elu exp floor gelu hardsigmoid hardswish leaky_relu log '
        'logical_and logical_not logical_or maximum minimum mul neg pow prelu relu relu6 round '
        'rsqrt sigmoid sin sqrt square sub tanh').split()},
    'eq': 'equal', 'ne': 'not_equal', 'lt': 'less', 'le': 'less_equal', 'gt': 'greater',
    'ge': 'greater_equal', 'rsub': 'sub', 'where': 'select',
}
# Types without a pattern of tiles: planned whole, and understood as that.
WHOLE = {
    **{name: name for name in (
        'amax amin argmax argmin cumsum embedding erf gather group_norm index index_select '
        'instance_norm log1p rms_norm silu softplus std sum var max min mish celu selu '
        'bitwise_and bitwise_or bitwise_not bitwise_xor remainder atan sinh cosh topk '
        'sort').split()},
    'zeros': 'fill', 'ones': 'fill', 'full': 'fill', 'fill': 'fill', 'zero': 'fill',
    'zeros_like': 'fill', 'ones_like': 'fill', 'full_like': 'fill', 'new_zeros': 'fill',
    'new_ones': 'fill', 'new_full': 'fill', 'scalar_tensor': 'fill', 'empty': 'fill',
    'arange': 'range', 'masked_fill': 'masked_fill', 'stack': 'stack', 'repeat': 'tile',
    'roll': 'roll', 'flip': 'flip', 'index_put': 'index_put', 'scatter': 'scatter',
    'conv1d': 'conv1d', 'conv_transpose1d': 'conv_transpose1d',
}
# Operators that write what they read in another order or type: bytes of their own.
COPIES = ('clone', 'view', 'contiguous', 'reshape', 'flatten', 'to', '_to_copy', 'lift_fresh_copy',
          'alias_copy', 'expand_copy', 'detach', 'copy', 'type_as', 'unflatten')


def pooled(size: Sequence[int], out: Sequence[int]) -> bool:
    """Whether adaptive pooling of @size to @out is pooling by windows that are all alike."""
    return all(o and s % o == 0 for s, o in zip(size, out))


def spread(value: Any, spatial: int) -> list[int]:
    """A number, or a list of one, for every spatial dimension."""
    values = [int(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    return values * spatial if len(values) == 1 else values


def scalar_of(given: dict[str, Any]) -> dict[str, Any]:
    """The number beside which an operator has a tensor, as an attribute."""
    numbers = [v for k, v in given.items() if k in ('other', 'exponent', 'self')
               and isinstance(v, (int, float)) and not isinstance(v, bool)]
    return {'scalar': numbers[0]} if len(numbers) == 1 and math.isfinite(numbers[0]) else {}


class Operators:
    """The part of a walk that knows operators."""

    def folded(self, node: Any, values: dict[Any, Any]) -> Any:
        """A batch normalisation that the convolution before has taken over: that one's output."""
        if is_aten(node, 'batch_norm') and node.args[0] in values and self.folds(node.args[0]):
            return values[node.args[0]]
        return None

    @staticmethod
    def folds(node: Any) -> Any:
        """The batch normalisation that a convolution can take over, if there is one."""
        if not isinstance(node, torch.fx.Node) or not any(
                is_aten(node, name) for name in ('conv1d', 'conv2d', 'conv3d')):
            return None
        user = next(iter(node.users), None)
        if len(node.users) == 1 and is_aten(user, 'batch_norm') and user.args[0] is node and (
                not arguments(user.target, user.args, user.kwargs)['training']):
            return user
        return None

    def describe(self, node: Any, name: str,
                 given: dict[str, Any]) -> tuple[str, dict[str, Any], list[Any], bool]:
        """Type and attributes of an operator, what it reads, and whether it has a pattern."""
        name = name[:-1] if name.endswith('_') and not name.startswith('__') else name
        reads = tensors_in(given)
        make = getattr(self, 'make_' + name.lstrip('_'), None)
        if make is not None:
            return make(node, given, reads)
        for stem, kind in (('max_pool', 'maxpool'), ('avg_pool', 'avgpool'),
                           ('adaptive_avg_pool', None), ('upsample_', 'upsample')):
            if name.startswith(stem):
                return (self.adaptive(given, reads) if kind is None else
                        self.upsample(name, node, reads) if kind == 'upsample' else
                        self.pool(kind, name, given, reads))
        if name.startswith('conv'):
            return self.convolution(node, name, given, reads)
        if name in COPIES:
            return 'copy', {}, reads, True
        if name in ELEMENTWISE:
            return ELEMENTWISE[name], scalar_of(given), reads, True
        if name in WHOLE:
            return WHOLE[name], {}, reads, False
        if name not in self.warned:
            self.warned.add(name)
            self.warn(f'{text(node)} is not known here: it is planned whole, and so are others of '
                      'its kind')
        return name, {'whole': True}, reads, False

    def convolution(self, node: Any, name: str, given: dict[str, Any],
                    reads: list[Any]) -> tuple[str, dict[str, Any], list[Any], bool]:
        """A convolution, and the batch normalisation that it takes over."""
        weight = given['weight']
        spatial = weight.dim() - 2
        if name == 'convolution':
            name = f'conv{"_transpose" if given["transposed"] else ""}{spatial}d'
        kernel = list(weight.shape[2:])
        attrs = {'kernel': kernel, 'stride': spread(given['stride'], spatial)}
        dilation, padding = spread(given['dilation'], spatial), given['padding']
        if padding == 'same':
            total = [d * (k - 1) for d, k in zip(dilation, kernel)]
            if any(t % 2 for t in total):
                attrs['pad_begin'] = [t // 2 for t in total]
                attrs['pad_end'] = [t - t // 2 for t in total]
            else:
                attrs['padding'] = [t // 2 for t in total]
        else:
            attrs['padding'] = spread(0 if padding == 'valid' else padding, spatial)
        attrs['dilation'] = dilation
        attrs['groups'] = given['groups']
        if 'transpose' in name:
            attrs['output_padding'] = spread(given['output_padding'], spatial)
        elif given['groups'] > 1 and weight.shape[1] == 1 and weight.shape[0] == given['groups']:
            attrs['depthwise'] = True
        norm = self.folds(node)
        if norm is not None:
            attrs['bn_folded'] = path_of(norm) or norm.name
            with self.mode:
                bias = torch.empty(weight.shape[0], dtype=weight.dtype)
            self.own(self.tensor(attrs['bn_folded'] + '.folded_bias', bias, 'parameter'), bias)
            reads = [*reads[:2], bias]
        if spatial == 1:
            attrs = {k: v for k, v in attrs.items() if k in ('groups', 'bn_folded')}
        return name, attrs, reads, spatial > 1

    def pool(self, kind: str, name: str, given: dict[str, Any],
             reads: list[Any]) -> tuple[str, dict[str, Any], list[Any], bool]:
        """Pooling by a window."""
        spatial = int(re.search(r'(\d)d', name).group(1))
        kernel = spread(given['kernel_size'], spatial)
        attrs = {'kernel': kernel, 'stride': spread(given['stride'] or kernel, spatial),
                 'padding': spread(given['padding'], spatial)}
        dilation = spread(given.get('dilation', 1), spatial)
        if any(d != 1 for d in dilation):
            attrs['dilation'] = dilation
        attrs['ceil_mode'] = bool(given['ceil_mode'])
        if spatial == 1:
            return kind + '1d', {}, reads, False
        return kind, attrs, reads, True

    @staticmethod
    def adaptive(given: dict[str, Any],
                 reads: list[Any]) -> tuple[str, dict[str, Any], list[Any], bool]:
        """Average pooling to a size: a mean, windows that are alike, or neither."""
        size = spread(given['output_size'], 1)
        source = list(reads[0].shape[-len(size):])
        if all(s == 1 for s in size):
            return 'mean', {'dim': [-1 - i for i in range(len(size))]}, reads, True
        if pooled(source, size) and len(size) > 1:
            kernel = [s // o for s, o in zip(source, size)]
            return 'avgpool', {'kernel': kernel, 'stride': kernel, 'padding': [0] * len(size),
                               'ceil_mode': False}, reads, True
        return 'adaptive_avgpool', {'whole': True}, reads, False

    @staticmethod
    def upsample(name: str, node: Any,
                 reads: list[Any]) -> tuple[str, dict[str, Any], list[Any], bool]:
        """Interpolation: rows of neighbours, but for those modes that reach further."""
        mode = name[len('upsample_'):]
        attrs = {'mode': mode, 'size': list(node.meta['val'].shape[2:])}
        if 'bicubic' in mode or len(attrs['size']) != 2:
            attrs['whole'] = True
        return 'upsample', attrs, reads, True

    def make_linear(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """A linear layer, whose weights are written [in, out], as matrices are multiplied."""
        self.transpose(given['weight'])
        return 'linear', {}, reads, True

    def make_addmm(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """What torch.export makes of linear layers when asked for core operators."""
        return 'linear', {}, [given['mat1'], given['mat2'], given['self']], True

    def make_matmul(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """A product of matrices."""
        return 'matmul', {}, reads, True

    make_bmm = make_mm = make_matmul

    def make_batch_norm(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """Batch normalisation alone: a factor and a summand for each channel."""
        if given['training']:
            raise Refused(f'{text(node)} is in training mode: call eval() of the model before it '
                          'is exported')
        path, channels = path_of(node) or node.name, given['input'].shape[1]
        for suffix in ('scale', 'shift'):
            with self.mode:
                value = torch.empty(channels, dtype=given['input'].dtype)
            self.own(self.tensor(f'{path}.{suffix}', value, 'parameter'), value)
            reads = [*reads[:1 if suffix == 'scale' else 2], value]
        return 'batchnorm', {}, reads, True

    def make_dropout(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """Dropout that drops: a model in eval mode has none."""
        raise Refused(f'{text(node)} is in training mode: call eval() of the model before it is '
                      'exported')

    make_feature_dropout = make_alpha_dropout = make_dropout

    def make_layer_norm(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """Normalisation of the innermost dimension, in tiles; of more of them, whole."""
        attrs = {} if len(given['normalized_shape']) == 1 else {'whole': True}
        return 'layernorm', attrs, reads, True

    def make_softmax(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """Softmax along a dimension."""
        return 'softmax', {'dim': given['dim']}, reads, True

    def make_log_softmax(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """Its logarithm."""
        return 'log_softmax', {'dim': given['dim']}, reads, True

    def make_mean(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """A mean over dimensions, or over all."""
        dims = given.get('dim')
        if dims is None or dims == []:
            dims = list(range(reads[0].dim()))
        return 'mean', {'dim': list(dims)} if dims else {}, reads, True

    def make_cat(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """A concat."""
        return 'cat', {'dim': given['dim']}, reads, True

    def make_hardtanh(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """ReLU6 by another name, or a clamp."""
        six = (given['min_val'], given['max_val']) == (0, 6)
        return 'relu6' if six else 'clamp', {}, reads, True

    def make_pad(self, node: Any, given: dict[str, Any], reads: list[Any]) -> Any:
        """Padding, begin and end of the innermost dimension first."""
        pads = [int(p) for p in given['pad']]
        spatial = max(reads[0].dim() - 2, 0)
        mode = given.get('mode', 'constant')
        if mode != 'constant' or not 0 < len(pads) <= 2 * spatial or spatial > 3:
            return 'pad', {'whole': True}, reads, True
        return 'pad', {'padding': pads + [0] * (2 * spatial - len(pads))}, reads, True

    make_constant_pad_nd = make_pad

    def attention(self, node: Any, given: dict[str, Any]) -> Any:
        """Attention, in the operators that it is made of: the scores have bytes of their own."""
        query, key, value, mask = (given[k] for k in ('query', 'key', 'value', 'attn_mask'))
        scale = given.get('scale') or 1 / math.sqrt(query.shape[-1])
        with self.mode:
            scaled = torch.empty(tuple(query.shape), dtype=query.dtype)
            scores = torch.empty((*query.shape[:-1], key.shape[-2]), dtype=query.dtype)
            chances = torch.empty_like(scores)
            result = torch.empty((*query.shape[:-1], value.shape[-1]), dtype=query.dtype)
            self.add(node, 'div', [query], [scaled], {'scalar': round(1 / scale, 9)})
            self.add(node, 'matmul', [scaled, key], [scores])
            if mask is not None:
                self.add(node, 'add', [scores, mask], [masked := torch.empty_like(scores)])
                scores = masked
            elif given['is_causal']:
                self.add(node, 'causal_mask', [scores], [masked := torch.empty_like(scores)],
                         {'inplace': True}, False)
                scores = masked
            self.add(node, 'softmax', [scores], [chances], {'dim': -1})
        self.add(node, 'matmul', [chances, value], [result])
        return result
