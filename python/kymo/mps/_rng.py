"""The state of the random numbers of a device. Its 44 bytes are those of torch.mps."""
import sys

from kymo import _device
from kymo.errors import needed_numpy


def get_rng_state(device="mps"):
    """The state of the generator: a torch.ByteTensor if torch is imported, otherwise an array of uint8.

    >>> from kymo import mps
    >>> mps.manual_seed(42)
    >>> state = mps.get_rng_state()
    >>> first = mps.rand(3).tolist()
    >>> mps.set_rng_state(state)
    >>> mps.rand(3).tolist() == first
    True
    """
    state = bytearray(_device.get_rng_state(device))
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.frombuffer(state, dtype=torch.uint8)
    numpy = needed_numpy()
    return numpy.frombuffer(state, dtype="uint8")


def set_rng_state(new_state, device="mps"):
    """Restores a state of get_rng_state().

    Takes a torch.ByteTensor on the CPU, an array of uint8 or bytes. Others are a TypeError; a wrong size is a
    RuntimeError.
    """
    _device.set_rng_state(_state_bytes(new_state), device)


def _state_bytes(state):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(state, torch.Tensor):
        if state.dtype != torch.uint8 or state.device.type != "cpu" or state.layout != torch.strided:
            raise TypeError("RNG state must be a torch.ByteTensor on the CPU, not one of "
                            f"{state.dtype} on {state.device}")
        return bytes(state.contiguous().numpy())
    if isinstance(state, (bytes, bytearray)):
        return bytes(state)
    try:
        view = memoryview(state)
    except TypeError:
        raise TypeError("RNG state must be a torch.ByteTensor or an array of uint8, "
                        f"not {type(state).__name__}") from None
    if view.format != "B":
        raise TypeError(f"RNG state must be an array of uint8, not of format {view.format!r}")
    return view.tobytes()


def manual_seed(seed):
    """Seeds the generator with a number from -2**63 to 2**64 - 1. Does nothing if there is no device."""
    _device.manual_seed(int(seed))


def seed():
    """Seeds the generator with a number from the operating system."""
    _device.seed()
