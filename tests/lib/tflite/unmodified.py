# SPDX-License-Identifier: MIT
"""A program that knows nothing of npumem: it loads TensorFlow Lite by ctypes, as packages do.

usage: unmodified.py RUNTIME MODEL
"""
import ctypes
import sys

tfl = ctypes.CDLL(sys.argv[1])
for name in ('ModelCreateFromFile', 'InterpreterCreate', 'InterpreterGetInputTensor',
             'InterpreterGetOutputTensor', 'TensorData'):
    getattr(tfl, f'TfLite{name}').restype = ctypes.c_void_p
tfl.TfLiteTensorByteSize.restype = ctypes.c_size_t


def call(name, *arguments):
    """A function's result; pointers are whole."""
    return getattr(tfl, f'TfLite{name}')(*(ctypes.c_void_p(a) if i == 0 else a
                                           for i, a in enumerate(arguments)))


model = tfl.TfLiteModelCreateFromFile(sys.argv[2].encode())
interpreter = call('InterpreterCreate', model, None)
if not interpreter or call('InterpreterAllocateTensors', interpreter):
    sys.exit('no interpreter')
tensor = call('InterpreterGetInputTensor', interpreter, 0)
ctypes.memset(call('TensorData', tensor), 20, call('TensorByteSize', tensor))
if call('InterpreterInvoke', interpreter):
    sys.exit('the inference fails')
tensor = call('InterpreterGetOutputTensor', interpreter, 0)
print(ctypes.string_at(call('TensorData', tensor), call('TensorByteSize', tensor)).hex())
call('InterpreterDelete', interpreter)
call('ModelDelete', model)
