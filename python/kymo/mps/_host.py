"""What tensors do with NumPy. The methods of Tensor call these functions."""
from kymo.errors import InvalidArgument, needed_numpy

_COMPARISONS = ("less", "less_equal", "equal", "not_equal", "greater", "greater_equal")  # in Python's order


def copy(tensor):
    """A new array of NumPy; bfloat16, which NumPy does not have, becomes float32."""
    numpy = needed_numpy()
    narrow = tensor.dtype == "bfloat16"
    elements = numpy.empty(tensor.numel(), "uint16" if narrow else tensor.dtype)
    tensor._copy_to(elements)
    if narrow:
        elements = (elements.astype("uint32") << 16).view("float32")
    return elements.reshape(tensor.shape)


def numpy(tensor):
    if tensor.dtype == "bfloat16":
        raise TypeError("NumPy has no bfloat16: use cpu(), which converts it to float32")
    if not tensor.is_shared_with_host():
        raise TypeError(f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
                        "to host memory first.")
    return needed_numpy().asarray(memoryview(tensor))


def cpu(tensor):
    from kymo.mps._host_array import HostArray
    return copy(tensor).view(HostArray)


def array(tensor, dtype=None, copy=None):
    wanted = tensor.dtype if dtype is None else needed_numpy().dtype(dtype)
    shares = tensor.dtype != "bfloat16" and tensor.is_shared_with_host() and wanted == tensor.dtype
    if copy is False and not shares:
        raise ValueError(f"a tensor of {tensor.dtype} on {tensor.device} cannot be an array of {wanted} without a copy")
    if shares and copy is not True:
        return numpy(tensor)
    result = globals()["copy"](tensor)
    return result if dtype is None else result.astype(wanted, copy=False)


def item(tensor):
    if tensor.numel() != 1:
        raise RuntimeError(f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar")
    return copy(tensor).reshape(()).item()


def as_bool(tensor):
    if tensor.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {tensor.numel()} values is ambiguous")
    return bool(item(tensor))


def as_float(tensor):
    return float(item(tensor))


def as_int(tensor):
    return int(item(tensor))


def tensor_like(tensor, data):
    """A list as a tensor of the same dtype on the same device."""
    from kymo.mps import _tensors
    return _tensors.tensor(data, dtype=tensor.dtype, device=tensor.device)


def compare(tensor, other, operation):
    """A tensor of bool: each element compared with the other tensor, array or number."""
    numpy = needed_numpy()
    if isinstance(other, type(tensor)):
        if other.device != tensor.device:
            raise InvalidArgument(f"tensors on {tensor.device} and {other.device} cannot be compared; use to(device) first")
        other = copy(other)
    elif not isinstance(other, (int, float, numpy.generic, numpy.ndarray)):
        return NotImplemented
    try:
        shape = numpy.broadcast_shapes(tensor.shape, numpy.shape(other))
    except ValueError:
        raise InvalidArgument(f"tensors of shape {list(tensor.shape)} and {list(numpy.shape(other))} cannot be "
                              "compared") from None
    # Not of dimension 0: NumPy would compare float32(0.1) with 0.1 as float64.
    result = getattr(numpy, _COMPARISONS[operation])(numpy.atleast_1d(copy(tensor)), other)
    from kymo.mps import _tensors
    return _tensors.tensor(result.reshape(shape), device=tensor.device)


def tolist(tensor):
    return copy(tensor).tolist()


def show(tensor):
    body = needed_numpy().array2string(copy(tensor), separator=", ", prefix="tensor(")
    dtype = "" if tensor.dtype in ("float32", "int64", "bool") else f", dtype={tensor.dtype}"
    return f"tensor({body}, device='{tensor.device}'{dtype})"
