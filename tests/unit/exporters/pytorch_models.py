# SPDX-License-Identifier: MIT
"""Small models for the tests of npumem-export: each has something that the exporter must see."""
import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.while_loop import while_loop


class Convnet(nn.Module):
    """Convolutions with batch normalisation, activations in place, pooling, a linear layer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.act = nn.ReLU(inplace=True)
        self.depthwise = nn.Conv2d(8, 8, 3, padding='same', groups=8)
        self.uneven = nn.Conv2d(8, 8, 2, padding='same')
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, output_padding=1)
        self.alone = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.2, inplace=True)
        self.linear = nn.Linear(4, 10)

    def forward(self, x):
        x = self.depthwise(self.act(self.norm(self.conv(x))))
        x = self.pool(F.relu6(self.uneven(x)))
        x = self.alone(F.hardswish(self.up(x)))
        x = F.adaptive_avg_pool2d(x, 1)
        return torch.softmax(self.linear(self.drop(torch.flatten(x, 1))), dim=1)


class Residual(nn.Module):
    """A block of a ResNet, whose input lives on until it is added in place."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x
        return self.relu(out)


class Views(nn.Module):
    """Views are no operators; what reads a part says so; what is copied is an operator."""

    def forward(self, x):
        first, second = torch.chunk(x, 2, dim=1)
        turned = first.transpose(2, 3)
        copied = turned.reshape(1, -1)
        joined = torch.cat([first + 1, second], dim=1)
        return joined.flatten(1), copied * 2, x[:, :, 1:3].sum(dim=(2, 3)), x.view(-1)


class Updates(nn.Module):
    """Bytes that are updated: of a buffer, which is state, and of values, in whole and in part."""

    def __init__(self):
        super().__init__()
        self.register_buffer('seen', torch.zeros(4))
        self.register_buffer('cache', torch.zeros(3, 4))

    def forward(self, x):
        y = x + 1
        y += x
        y[:, 1:2] = 3
        self.seen.add_(y[0])
        self.cache[1:2].copy_(y)
        return y.mul_(self.seen), self.cache.sum(0)


class Loop(nn.Module):
    """while_loop: a counter, two values that change places, a captured parameter."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, y):
        def test(i, x, y):
            return i < 5

        def body(i, x, y):
            return i + 1, y.clone(), torch.relu(self.linear(x))

        _, x, y = while_loop(test, body, (torch.zeros((), dtype=torch.int64), x, y))
        return x, y * 2


class Branch(nn.Module):
    """torch.cond in torch.cond, and an arm that gives what came in."""

    def forward(self, x, y):
        positive = x.sum() > 0
        x = x + y

        def yes(x, y):
            return x * y, y.clone()

        def no(x, y):
            return torch.cond(y.sum() > 1, lambda x: x * 2, lambda x: x.sin(), (x,)), x.exp()

        a, b = torch.cond(positive, yes, no, (x, y))
        return a - b


class Attention(nn.Module):
    """Attention, of which PyTorch has one operator: here its scores have bytes of their own."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        y = self.norm(x)
        return x + self.attention(y, y, y, need_weights=False)[0]


class Unknown(nn.Module):
    """An operator without a type of its own, twice."""

    def forward(self, x):
        return torch.erfinv(torch.erfinv(x))


def rows(*shape):
    """An input."""
    return torch.zeros(*shape)


# By the name of the file in tests/graphs/pytorch: model, inputs, options.
MODELS = {
    'convnet': (Convnet, lambda: (rows(1, 3, 16, 16),), {}),
    'convnet.fused': (Convnet, lambda: (rows(1, 3, 16, 16),), {'fused': True}),
    'residual.int8': (Residual, lambda: (rows(1, 8, 8, 8),), {'element_bytes': 1}),
    'residual.fused': (Residual, lambda: (rows(1, 8, 8, 8),), {'fused': True}),
    'views': (Views, lambda: (rows(1, 4, 4, 4),), {}),
    'updates': (Updates, lambda: (rows(1, 4),), {}),
    'loop': (Loop, lambda: (rows(2, 4), rows(2, 4)), {}),
    'branch': (Branch, lambda: (rows(2, 4), rows(2, 4)), {}),
    'attention': (Attention, lambda: (rows(5, 1, 8),), {}),
    'attention.fused': (Attention, lambda: (rows(5, 1, 8),), {'fused': True}),
    'unknown': (Unknown, lambda: (rows(8),), {}),
}
