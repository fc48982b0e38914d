"""Ranges on a stream of a device: torch.cuda.nvtx._device_range_start and _device_range_end."""
from kymo import _annotate
from kymo.errors import NotAvailable


def _of_own_runtime():
    """Kymo's device runtime."""
    try:
        from kymo import _device
    except ImportError as error:
        raise NotAvailable("a range on a stream needs the CUDA driver in this process, or Kymo's device runtime, which "
                           f"cannot be loaded: {error}") from None
    return _device


def _device_range_start(msg, stream=0):
    """Opens a range that starts when all work queued so far on the stream has completed. Returns its handle.

    `stream` is a stream of kymo.mps, or the number of a CUDA stream, as in `torch.cuda.current_stream().cuda_stream`.
    0 is the default stream of CUDA in a process that uses CUDA, otherwise the current stream of kymo.mps.

    >>> from kymo import nvtx
    >>> handle = nvtx._device_range_start("copy")
    >>> nvtx._device_range_end(handle)
    """
    if not isinstance(msg, str):
        raise TypeError(f"_device_range_start: msg must be str, not {type(msg).__name__}")
    if isinstance(stream, int) and (stream != 0 or _annotate.has_cuda()):
        return _annotate.cuda_range_start(msg, stream)
    return _of_own_runtime().device_range_start(msg, None if isinstance(stream, int) else stream)


def _device_range_end(range_handle, stream=0):
    """Ends a range of _device_range_start when all work queued so far on the stream has completed."""
    if _annotate.is_cuda_range(range_handle):
        return _annotate.cuda_range_end(range_handle, stream)
    return _of_own_runtime().device_range_end(range_handle, None if isinstance(stream, int) else stream)
