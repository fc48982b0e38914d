"""torch.mps on any accelerator: CUDA, OpenCL or Vulkan, without PyTorch.

The documented example of torch.mps.compile_shader:

>>> from kymo import mps
>>> lib = mps.compile_shader(
...  "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; }"
... )
>>> x = mps.zeros(16, device="mps")
>>> lib.full(x, 3.14)
>>> x.cpu().tolist() == [3.140000104904175] * 16
True

All functions act on the current device: KYMO_DEVICE names it ("cuda:0", "opencl:1", "vulkan"), otherwise it is the best
one found. `kymo.device` is the same module. Work is queued and runs later; its errors are raised by the next
synchronize(). While something records (kymo record, KYMO_TRACE), every kernel, copy and allocation is in the trace.

Memory is shared with NumPy, and through DLPack with PyTorch and others, where the device allows it (docs/python.md):

>>> import numpy
>>> a = numpy.arange(4, dtype="float32")
>>> t = mps.tensor(a)             # a copy; mps.from_numpy(a) shares the memory of a
>>> numpy.asarray(t).tolist()
[0.0, 1.0, 2.0, 3.0]
"""
import contextlib as _contextlib
import importlib as _importlib
import warnings as _warnings

from kymo import _device
from kymo._device import Event, Kernel, ShaderLibrary, Stream, Tensor
from kymo.errors import (CompileError, CompileWarning, DeviceError, Error, InvalidArgument, InvalidType, NotAvailable,
                         OutOfMemory, UnknownKernel)
from kymo.mps import _shaders
from kymo.mps._rng import get_rng_state, manual_seed, seed, set_rng_state
from kymo.mps._samplers import Sampler, sampler
from kymo.mps._tensors import (arange, bernoulli, bfloat16, bool, empty, float16, float32, float64, from_dlpack,
                               from_numpy, full, int8, int16, int32, int64, ones, rand, randint, randn, tensor, uint8,
                               uint16, uint32, uint64, zeros)

AcceleratorError = DeviceError  # its name in PyTorch

__all__ = [  # without bool: `from kymo.mps import *` must not replace Python's own
    "AcceleratorError", "Event", "Kernel", "Sampler", "ShaderLibrary", "Stream", "Tensor",
    "arange", "bernoulli", "bfloat16", "compile_shader", "current_allocated_memory", "current_device",
    "current_stream", "default_stream", "device_count", "device_description", "device_names",
    "driver_allocated_memory", "empty", "empty_cache", "float16", "float32", "float64", "from_dlpack", "from_numpy",
    "full", "get_rng_state", "int16", "int32", "int64", "int8", "is_available", "load_metallib", "manual_seed",
    "memory_statistics", "ones", "profiler", "rand", "randint", "randn", "recommended_max_memory", "reset_peak_memory",
    "sampler", "seed",
    "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_stream", "stream", "synchronize", "tensor",
    "uint16", "uint32", "uint64", "uint8", "zeros",
]


def __getattr__(name):
    if name == "profiler":
        return _importlib.import_module("kymo.mps.profiler")
    raise AttributeError(f"module 'kymo.mps' has no attribute {name!r}")


def device_count():
    """The number of devices of the current backend."""
    return _device.device_count()


def is_available():
    """Whether there is a device.

    >>> from kymo import mps
    >>> mps.is_available() == (mps.device_count() > 0)
    True
    """
    return _device.device_count() > 0


def device_names():
    """The names of all devices of this machine, of all backends, such as ["cuda:0", "opencl:0"]."""
    return _device.device_names()


def current_device():
    """The name of the current device, such as "cuda:0"."""
    return _device.device_name(None)


def device_description(device=None):
    """What the driver calls the device, such as "NVIDIA H200"."""
    return _device.device_description(device)


def set_device(device):
    """Makes a device the current one, for all threads."""
    _device.set_device(device)


def synchronize():
    """Waits for all work on all streams of the device. Raises DeviceError if some of that work failed."""
    _device.synchronize()


def empty_cache():
    """Returns all unused cached memory to the driver."""
    _device.empty_cache()


def set_per_process_memory_fraction(fraction):
    """Limits this process to a fraction of recommended_max_memory().

    0.0 means no limit; values above 1 are allowed up to 2. The fraction must be a float:

    >>> from kymo import mps
    >>> mps.set_per_process_memory_fraction(1)
    Traceback (most recent call last):
    TypeError: fraction must be a float, not int: 1 could be a number of bytes
    >>> mps.set_per_process_memory_fraction(0.0)
    """
    if not isinstance(fraction, float):
        raise TypeError(f"fraction must be a float, not {type(fraction).__name__}: {fraction!r} could be a number of bytes")
    _device.set_memory_fraction(fraction)


def current_allocated_memory():
    """The bytes that live tensors hold, without cached memory."""
    return _device.current_allocated_memory()


def driver_allocated_memory():
    """The bytes that this process has allocated from the driver, with caches."""
    return _device.driver_allocated_memory()


def recommended_max_memory():
    """How much memory the device can hold without problems, in bytes."""
    return _device.recommended_max_memory()


def memory_statistics():
    """The counters of the allocator as a dict: current, peak, reserved, cached, allocations, …"""
    return _device.memory_statistics()


def reset_peak_memory():
    """Sets the peaks of memory_statistics() to the current values."""
    _device.reset_peak_memory()


def compile_shader(source, *, constants=None, defines=None, headers=None, tensor_cores=False):
    """Compiles kernels in Metal's language for the current device. Returns a library whose kernels are its attributes.

    A kernel is called as kernel(*args, threads=None, group_size=None, arg_casts=None): with tensors, numbers, lists of
    them, and bytes of structures. `threads` is the number of threads in one to three dimensions, otherwise one for each
    element of the first tensor, or for each pixel, if it is for a texture. A `threadgroup` pointer takes the size of
    its memory in bytes. Raises CompileError, which is a SyntaxError. What the translator warns about is a
    CompileWarning.

    `constants` are the values of function constants, by name or by index: numbers, bools, and lists for vectors.
    `defines` are macros: a text, a number, or None for a macro without a value. `headers` are the texts that #include
    finds, by name. `tensor_cores` lets CUDA multiply simdgroup matrices of half and bfloat by its tensor cores.

    >>> from kymo import mps
    >>> lib = mps.compile_shader("kernel void twice(device int* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }")
    >>> dir(lib)
    ['twice']
    >>> x = mps.tensor([1, 2, 3], dtype="int32")
    >>> lib.twice(x, threads=2)
    >>> x.tolist()
    [2, 4, 3]
    >>> lib = mps.compile_shader('''
    ... constant int factor [[function_constant(0)]];
    ... kernel void scale(device int* x, uint i [[thread_position_in_grid]]) { x[i] = x[i] * factor + OFFSET; }
    ... ''', constants={"factor": 10}, defines={"OFFSET": 1})
    >>> lib.scale(x)
    >>> x.tolist()
    [21, 41, 31]
    """
    if not isinstance(source, str):
        raise TypeError(f"compile_shader: source must be str, not {type(source).__name__}")
    library = _device.compile_shader(source, _shaders.constants(constants), _shaders.defines(defines),
                                     _shaders.headers(headers), tensor_cores)
    if text := _device.library_warnings(library):
        _warnings.warn(text.rstrip("\n"), CompileWarning, stacklevel=2)
    return library


def load_metallib(path):
    """Loads a library of translated kernels, which `kymo shader SOURCE -o NAME.kymolib` wrote, for the current device.

    Nothing is translated. Raises Error if the file cannot be read, is damaged, or was written for another backend only.
    """
    return _device.load_metallib(path)


def current_stream(device=None):
    """The stream that this thread's work goes to."""
    return _device.current_stream(device)


def default_stream(device=None):
    """The stream that threads use before set_stream()."""
    return _device.default_stream(device)


def set_stream(stream):
    """Sets this thread's current stream. None does nothing."""
    if stream is not None:
        _device.set_stream(stream)


@_contextlib.contextmanager
def stream(stream):
    """Sets this thread's current stream until the end of the block. None does nothing.

    >>> from kymo import mps
    >>> side = mps.Stream()
    >>> with mps.stream(side):
    ...     mps.current_stream() == side
    True
    """
    if stream is None:
        yield
        return
    if not isinstance(stream, Stream):
        raise TypeError(f"stream must be a Stream or None, not {type(stream).__name__}")
    before = _device.current_stream(stream.device)
    _device.set_stream(stream)
    try:
        yield
    finally:
        _device.set_stream(before)
