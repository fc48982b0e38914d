"""Creating tensors, with the names and arguments of PyTorch.

A dtype is its name: "float32". The names float32, int64, … are in kymo.mps too. A dtype of NumPy or PyTorch, and
Python's float, int and bool, are taken as well.
"""
import builtins
import math

from kymo import _device
from kymo.errors import InvalidArgument, needed_numpy

bool = "bool"
uint8, uint16, uint32, uint64 = "uint8", "uint16", "uint32", "uint64"
int8, int16, int32, int64 = "int8", "int16", "int32", "int64"
float16, float32, float64, bfloat16 = "float16", "float32", "float64", "bfloat16"

_ALIASES = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
    "i64": "int64", "u64": "uint64",
}
_TYPES = {builtins.float: "float32", builtins.int: "int64", builtins.bool: "bool"}


def dtype_name(dtype, default="float32"):
    """The name of a dtype, however it is given."""
    if dtype is None:
        return default
    if dtype in _TYPES:
        return _TYPES[dtype]
    if isinstance(dtype, type):
        dtype = dtype.__name__
    name = str(dtype).removeprefix("torch.")
    return _ALIASES.get(name, name)


def _dtype_of(number):
    """The dtype that a number stands for: of Python, or a scalar of NumPy."""
    kind = getattr(getattr(number, "dtype", None), "kind", None)
    if isinstance(number, builtins.bool) or kind == "b":
        return "bool"
    return "int64" if isinstance(number, builtins.int) or kind in ("i", "u") else "float32"


def _shape(sizes):
    return sizes[0] if len(sizes) == 1 else sizes


def empty(*size, dtype=None, device=None):
    """A tensor whose elements are not set."""
    return _device.empty(_shape(size), dtype_name(dtype), device)


def full(size, fill_value, *, dtype=None, device=None):
    """A tensor with one value.

    >>> from kymo import mps
    >>> mps.full((2, 2), 7, dtype="int32").tolist()
    [[7, 7], [7, 7]]
    """
    return _device.empty(size, dtype_name(dtype, _dtype_of(fill_value)), device).fill_(fill_value)


def zeros(*size, dtype=None, device=None):
    """A tensor of zeros: zeros(16), zeros(2, 3) or zeros((2, 3))."""
    return empty(*size, dtype=dtype, device=device).fill_(0)


def ones(*size, dtype=None, device=None):
    """A tensor of ones."""
    return empty(*size, dtype=dtype, device=device).fill_(1)


def arange(start, end=None, step=1, *, dtype=None, device=None):
    """Numbers from start (0 if only one is given) up to end, without end.

    >>> from kymo import mps
    >>> mps.arange(4).tolist(), mps.arange(1, 2, 0.5).tolist()
    ([0, 1, 2, 3], [1.0, 1.5])
    """
    numpy = needed_numpy()
    if end is None:
        start, end = 0, start
    for name, number in (("start", start), ("end", end), ("step", step)):
        if not isinstance(number, (builtins.int, builtins.float)) and not hasattr(number, "__float__"):
            raise TypeError(f"arange: {name} must be a number, not {type(number).__name__}")
        if not math.isfinite(number):
            raise InvalidArgument(f"arange: {name} is {number}; it must be a finite number")
    whole = all(_dtype_of(number) != "float32" for number in (start, end, step))
    if whole:
        start, end, step = builtins.int(start), builtins.int(end), builtins.int(step)
    if step == 0:
        raise InvalidArgument("arange: step is 0; it must be positive or negative")
    if (end - start) * step < 0:
        raise InvalidArgument(f"arange: a step of {step} does not lead from {start} to {end}; change its sign")
    name = dtype_name(dtype, "int64" if whole else "float32")
    if whole and (numbers := range(start, end, step)):
        _checked("arange", numpy.array([numbers[0], numbers[-1]], dtype=object), name)
    exact = "uint64" if name == "uint64" and whole else None  # NumPy makes floats of numbers from 2**63
    return tensor(numpy.arange(start, end, step, dtype=exact), dtype=name, device=device)


def tensor(data, *, dtype=None, device=None):
    """A tensor with a copy of the data: a number, nested lists, an array, or a tensor of any library.

    Lists of floats become float32, lists of ints int64, as in PyTorch; arrays keep their type.

    >>> from kymo import mps
    >>> mps.tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if isinstance(data, _device.Tensor):
        return _convert(data, dtype, device)
    if hasattr(data, "__dlpack__") and not hasattr(data, "__array_interface__"):
        return _convert(_device.from_dlpack(data, device, True), dtype, device)
    numpy = needed_numpy()
    default = None
    if not isinstance(data, (numpy.ndarray, numpy.generic)) and not hasattr(data, "__array_interface__"):
        data = _checked("tensor", _array_of_list(data), dtype)
        if data.dtype == numpy.float64:
            default = "float32"
    array = numpy.asarray(data)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    name = dtype_name(dtype, default or array.dtype.name)
    if name == "bfloat16":
        return _bfloat16(array, device)
    if name != array.dtype.name and array.dtype.kind in "fiub":
        array = array.astype(_numpy_dtype(name))
    return _device.from_buffer(array, device, True)


def _array_of_list(data):
    """The array of a list. Integers stay exact: NumPy makes floats of those that need int64 and uint64 together."""
    numpy = needed_numpy()
    array = numpy.asarray(data)
    if array.dtype.kind == "f" and (abs(array) >= 2.0**63).any():
        exact = numpy.asarray(data, dtype=object)
        if all(isinstance(value, builtins.int) for value in exact.flat):
            return exact
    return array


def _checked(function, array, dtype):
    """The array, whose integers must fit the dtype. (An array that a caller gives is converted as NumPy does.)"""
    numpy = needed_numpy()
    name = dtype_name(dtype, "int64")
    is_large = array.dtype.kind == "O" and all(isinstance(value, builtins.int) for value in array.flat)
    if is_large and "float" in name:
        return array.astype("float64")
    if not array.size or not (is_large or array.dtype.kind in "iu") or not name.lstrip("u").startswith("int"):
        return array
    if dtype is None and not is_large:
        return array
    limits = numpy.iinfo(_numpy_dtype(name))
    for value in (array.min(), array.max()):
        if not limits.min <= value <= limits.max:
            raise InvalidArgument(f'{function}: {value} does not fit {name}, which takes {limits.min} to {limits.max}; '
                                  'dtype="float64" takes larger numbers, rounded')
    return array.astype(_numpy_dtype(name)) if is_large else array


def _numpy_dtype(name):
    numpy = needed_numpy()
    try:
        return numpy.dtype(name)
    except TypeError:
        raise TypeError(f"{name!r} is not a dtype of tensors") from None


def _bfloat16(array, device):
    numpy = needed_numpy()
    values = numpy.ascontiguousarray(array, dtype="float32")
    bits = values.view("uint32")
    even = ((bits >> 16) & 1) + 0x7FFF  # to the nearest, and to the even one of two
    rounded = numpy.where(numpy.isnan(values), (bits >> 16) | 0x40, (bits + even) >> 16).astype("uint16")
    return _device.as_bfloat16(_device.from_buffer(rounded.reshape(array.shape), device, True))


def _convert(source, dtype, device):
    name = dtype_name(dtype, source.dtype)
    if name == source.dtype:
        moved = source if device is None else source.to(device)
        return moved.clone() if moved is source else moved
    return tensor(source.cpu().numpy(), dtype=name, device=device or source.device)


def from_numpy(array, *, device=None):
    """A tensor that shares the memory of an array: what one writes, the other sees after synchronize().

    Raises BufferError if that is not possible, because the device has memory of its own (a GPU), or the array is
    read-only, has a negative stride or is not aligned. Use tensor(array) then, which copies.
    """
    numpy = needed_numpy()
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return _device.from_buffer(array, device, False)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of a tensor of another library, by DLPack: PyTorch, NumPy, CuPy, JAX, …

    Tensors on CUDA are not copied. Arrays on the CPU are shared if the device can use them, otherwise copied. With
    copy=False a copy is a BufferError; with copy=True there is always one.
    """
    if copy not in (None, True, False):
        raise TypeError(f"copy must be None, True or False, not {copy!r}")
    if not hasattr(ext_tensor, "__dlpack__") and type(ext_tensor).__name__ != "PyCapsule":
        raise TypeError("from_dlpack: ext_tensor must be a tensor or an array of a library with DLPack, "
                        f"not {type(ext_tensor).__name__}")
    return _device.from_dlpack(ext_tensor, device, copy)


# ---- Random numbers: the same seed gives the same numbers on every device ----

def _random(size, dtype, device, kind, a, b):
    out = empty(*size, dtype=dtype, device=device)
    _device.fill_random(out, kind, a, b)
    return out


def rand(*size, dtype=None, device=None):
    """Uniform random numbers from 0 to 1, without 1."""
    return _random(size, dtype, device, "uniform", 0.0, 1.0)


def randn(*size, dtype=None, device=None):
    """Normal random numbers with mean 0 and standard deviation 1."""
    return _random(size, dtype, device, "normal", 0.0, 1.0)


def bernoulli(*size, p=0.5, dtype=None, device=None):
    """1 with probability p, otherwise 0."""
    return _random(size, dtype, device, "bernoulli", p, 0.0)


def randint(low, high=None, size=None, *, dtype=None, device=None):
    """Random integers from low (0 if only one is given) to high - 1: randint(10, size=(3,)), randint(5, 10, (3,))."""
    if isinstance(high, (tuple, list)):
        high, size = None, high
    if high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint: size is missing")
    out = _device.empty(size, dtype_name(dtype, "int64"), device)
    _device.randint(out, low, high)
    return out
