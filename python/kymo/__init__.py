"""Kymo: records what a program and its accelerators do, and shows where the time went.

>>> import kymo
>>> kymo.nvtx.range_push("load"), kymo.nvtx.range_pop()
(0, 0)

The parts load when they are used first, so that `import kymo` is quick.
"""
import importlib as _importlib
import os as _os

from kymo.errors import (CompileError, CompileWarning, DeviceError, Error, InvalidArgument, InvalidType, NotAvailable,
                         OutOfMemory, UnknownKernel)
from kymo._version import __version__

# Modules of the package that people use. They load on first use.
_MODULES = (
    "device",
    "mps",
    "nvtx",
    "ondemand",
    "profiler",
)
# Names of this module that another one defines: name, module.
_NAMES = {
    "arange": "mps",
    "counter": "_annotate",
    "dump": "_annotate",
    "empty": "mps",
    "from_dlpack": "mps",
    "from_numpy": "mps",
    "full": "mps",
    "is_recording": "_annotate",
    "ones": "mps",
    "open": "reading",
    "rand": "mps",
    "randint": "mps",
    "randn": "mps",
    "Session": "_annotate",
    "set_thread_name": "_annotate",
    "tensor": "mps",
    "trace_functions": "functions",
    "zeros": "mps",
}

__all__ = ["CompileError", "CompileWarning", "DeviceError", "Error", "InvalidArgument", "InvalidType", "NotAvailable",
           "OutOfMemory", "UnknownKernel", *_MODULES, *_NAMES]
__all__.remove("open")  # `from kymo import *` must not replace Python's own


# A recording that the environment asks for begins with the import: libkymo.so looks at these variables when it loads.
if any(_os.environ.get(name) for name in ("KYMO_SESSION", "KYMO_SINKS", "KYMO_TRACE")):
    import kymo._annotate
if any(_os.environ.get(name) for name in ("KYMO_DAEMON", "KINETO_USE_DAEMON")):  # the agent starts when it loads
    import kymo._ondemand


def __getattr__(name):
    if name in _MODULES:
        return _importlib.import_module(f"kymo.{name}")
    if name in _NAMES:
        value = getattr(_importlib.import_module(f"kymo.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'kymo' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_NAMES})
