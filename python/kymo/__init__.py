"""Kymo: records what a program and its accelerators do, and shows where the time went.

>>> import kymo
>>> kymo.nvtx.range_push("load"), kymo.nvtx.range_pop()
(0, 0)

The parts load when they are used first, so that `import kymo` is quick.
"""
import importlib as _importlib

from kymo.errors import CompileError, DeviceError, Error, InvalidArgument, NotAvailable, OutOfMemory

# Modules of the package that people use. They load on first use.
_MODULES = (
    "nvtx",
)
# Names of this module that another one defines: name, module.
_NAMES = {
}

__all__ = ["CompileError", "DeviceError", "Error", "InvalidArgument", "NotAvailable", "OutOfMemory", *_MODULES, *_NAMES]


def __getattr__(name):
    if name in _MODULES:
        return _importlib.import_module(f"kymo.{name}")
    if name in _NAMES:
        value = getattr(_importlib.import_module(f"kymo.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'kymo' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
