"""The exceptions of Kymo. Every message says what is wrong, with the value, and what to do.

Each is also the exception that PyTorch and Python raise for the same mistake, so that code which catches those works:

>>> import kymo
>>> issubclass(kymo.Error, RuntimeError), issubclass(kymo.InvalidArgument, ValueError)
(True, True)
"""


class Error(RuntimeError):
    """The base of all, and raised itself for a wrong state: already recording, a file that is not a trace."""


class InvalidArgument(Error, ValueError):
    """A value that is out of range, or a wrong shape."""


class InvalidType(Error, TypeError):
    """A value of a wrong type in a place where PyTorch raises a RuntimeError, such as an argument of a kernel."""


class NotAvailable(Error):
    """This machine does not have what is needed. The message says what is missing and how to get it."""


def needed_numpy():
    """NumPy. Raises NotAvailable without it."""
    try:
        import numpy
    except ImportError:
        raise NotAvailable("this needs NumPy, which is not installed: pip install numpy") from None
    return numpy


class DeviceError(Error):
    """The device, its driver or a kernel reported a fault."""


class CompileError(Error, SyntaxError):
    """Shader source that does not compile. The message is the whole log of the compiler.

    The other attributes are the place of its first error, as far as the compiler reports it (0 and "": unknown).
    """

    def __init__(self, message, file="", line=0, column=0, text=""):
        super().__init__(message)
        self.msg = message
        self.filename, self.lineno, self.offset, self.text = file, line, column, text

    def __str__(self):
        return self.msg


class CompileWarning(UserWarning):
    """Shader source that compiles, but may not do what its author expects. The message is that of the translator."""


class OutOfMemory(Error, MemoryError):
    """An allocation that exceeds the limit or the memory of the device. Sizes are in bytes; limit 0: only the device's."""

    def __init__(self, message, asked=0, in_use=0, limit=0):
        super().__init__(message)
        self.asked, self.in_use, self.limit = asked, in_use, limit


class UnknownKernel(Error, AttributeError):
    """A shader library has no kernel of this name. A RuntimeError, as in PyTorch; `hasattr(lib, name)` works too."""
