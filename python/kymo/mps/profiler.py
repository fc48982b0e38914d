"""torch.mps.profiler: signposts for the work of devices, statistics, and captures.

>>> from kymo import mps
>>> with mps.profiler.profile(mode="interval", wait_until_completed=False):
...     x = mps.zeros(16)
...     mps.synchronize()
>>> "fill" in mps.profiler.statistics().lower() or "cop" in mps.profiler.statistics().lower()
True
"""
import contextlib as _contextlib

from kymo import _device

__all__ = ["capture_folder", "is_capturing_metal", "is_metal_capture_enabled", "is_running", "metal_capture", "profile",
           "reset_statistics", "start", "statistics", "stop"]


def start(mode="interval", wait_until_completed=False):
    """Starts signposts for all work of all devices.

    `mode` is "interval" (begin and end of each execution), "event" (a point when it has completed) or
    "interval,event". With wait_until_completed each operation completes before the next one is queued. A RuntimeError
    if it runs already, which then continues, or if the mode is unknown.
    """
    _device.profiler_start(mode, bool(wait_until_completed))


def stop():
    """Stops them. Never fails."""
    _device.profiler_stop()


def is_running():
    """Whether start() was called."""
    return _device.profiler_is_running()


@_contextlib.contextmanager
def profile(mode="interval", wait_until_completed=False):
    """start() and stop() around a block. Inside of another profile it is a RuntimeError, and the other continues."""
    start(mode, wait_until_completed)
    try:
        yield
    finally:
        stop()


def statistics():
    """What ran, how often and how long, as tables of text: while profiled. Waits for all queued work."""
    return _device.profiler_statistics()


def reset_statistics():
    """Starts the statistics again."""
    _device.profiler_reset()


def is_metal_capture_enabled():
    """Whether this process may capture: KYMO_CAPTURE_ENABLED=1 or MTL_CAPTURE_ENABLED=1 is set."""
    return _device.is_capture_enabled()


def is_capturing_metal():
    """Whether a capture is active."""
    return _device.is_capturing()


def capture_folder():
    """The folder of the active or last capture, such as "0000-frame.kycap"; empty if there was none."""
    return _device.capture_folder()


@_contextlib.contextmanager
def metal_capture(fname):
    """Captures every call to every device into a new folder NNNN-fname.kycap, for `kymo replay`.

    A RuntimeError if captures are not enabled (is_metal_capture_enabled()) or another one is active.
    """
    _device.start_capture(fname)
    try:
        yield
    finally:
        _device.stop_capture()
