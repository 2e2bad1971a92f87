# SPDX-License-Identifier: MIT
"""npumem-export - PyTorch models as graph JSON, which npumem plans.

torch.export has the model's operators; this walks through them with tensors that have sizes but
no bytes, and so sees which operator writes memory of its own, which only looks at another's bytes
(a view: no operator of the graph), and which updates bytes in place. docs/pytorch.md is a walk
through it, docs/formats.md has graph JSON field by field.

From Python:

    graph = npumem_export.export(model, (torch.zeros(1, 3, 224, 224),))
    npumem_export.save(graph, "model.json")
"""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

from .graph import Refused, Writer, save, write

__all__ = ['Refused', 'export', 'export_program', 'save', 'write']
__version__ = '0.1.0'


def say(message: str) -> None:
    """A warning for who has called no other function for them."""
    print(f'npumem-export: warning: {message}', file=sys.stderr)


def export_program(program: Any, name: str = 'model', *, fused: bool = False,
                   element_bytes: Optional[int] = None, source: Optional[str] = None,
                   warn: Callable[[str], None] = say) -> dict[str, Any]:
    """Graph JSON, as a dictionary, of a torch.export.ExportedProgram.

    name: of the graph.
    fused: activations are computed by the operator before them, and copies that only change the
        order of elements are none.
    element_bytes: of numbers that are floats in the model, if the NPU has others: 1 for int8.
    source: where the model is from, for people.
    warn: called with a sentence for each kind of operator that is not known.
    Raises Refused if the model cannot be written.
    """
    # PyTorch takes seconds to import, and who asks for help may not have it.
    import torch

    from .fuse import fuse
    from .walk import Walk

    walk = Walk(program, element_bytes, warn)
    walk.run()
    if fused:
        fuse(walk.ops)
    specs = zip(walk.placeholders(), program.graph_signature.input_specs)
    params = sum(n.meta['val'].numel() for n, s in specs if s.kind.name == 'PARAMETER')
    if source is None:
        source = f'PyTorch {torch.__version__}'
    return Writer(walk.inputs, walk.ops).graph(name, source, params)


def export(model: Any, args: tuple[Any, ...], name: Optional[str] = None, *, strict: bool = True,
           **options: Any) -> dict[str, Any]:
    """Graph JSON, as a dictionary, of a torch.nn.Module, which is put into eval mode.

    args: inputs of the model, of which only sizes and types matter.
    strict: as torch.export.export() has it; loops need it.
    options: those of export_program().
    """
    import torch.export

    program = torch.export.export(model.eval(), args, strict=strict)
    return export_program(program, name or type(model).__name__, **options)
