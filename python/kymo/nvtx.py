"""Annotations, with the functions of torch.cuda.nvtx and of PyPI's nvtx.

Change one import, and everything else stays:

>>> from kymo import nvtx                            # was: from torch.cuda import nvtx, or: import nvtx
>>> with nvtx.range("step {}", 7):                   # torch.cuda.nvtx
...     nvtx.mark("cache miss")
>>> @nvtx.annotate("load", color="green")            # PyPI's nvtx
... def load():
...     pass
>>> load()

Or change nothing: `kymo.nvtx.install()` replaces both modules for code that imports them.

Nothing is recorded unless something asks for it: `kymo record`, KYMO_TRACE, or a kymo.Session. Until then an
annotation costs about as much as the call of an empty function.
"""
import os as _os

from kymo import decorating as _decorating
from kymo._annotate import Event as _Event
from kymo._annotate import mark as _mark
from kymo._annotate import range, range_end, range_pop, range_push, range_start
from kymo.device_ranges import _device_range_end, _device_range_start
from kymo.domains import DEFAULT as _DEFAULT
from kymo.domains import Domain, EventAttributes, RangeId, get_domain
from kymo.replacing import install, uninstall

__all__ = [
    "Domain", "EventAttributes", "Profile", "RangeId", "annotate", "enabled", "end_range", "get_domain", "install", "mark",
    "pop_range", "push_range", "range", "range_end", "range_pop", "range_push", "range_start", "start_range", "uninstall",
]

_ENABLED = not _os.getenv("NVTX_DISABLE")


def enabled():
    """False if NVTX_DISABLE is set: then annotate, push_range and their like do nothing.

    >>> enabled()
    True
    """
    return _ENABLED


class annotate:
    """A range from here to the end of a with statement, or around a function.

    `message` is by default the name of the function. `domain` groups ranges, and each domain has a stack of its own.
    `category` is a text or a number, and `payload` a number (or anything with a text).

    >>> with annotate("load", color="blue", domain="reader", category="io", payload=4096):
    ...     pass
    >>> @annotate()
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """

    def __init__(self, message=None, color=None, domain=None, category=None, payload=None):
        self.domain = get_domain(domain)
        self.attributes = self.domain.get_event_attributes(message, color, category, payload)

    def __enter__(self):
        if _ENABLED:
            self.attributes.event.push()
        return self

    def __exit__(self, *_exception):
        if _ENABLED:
            self.attributes.event.pop()
        return False

    def __call__(self, function):
        if not _ENABLED:
            return function
        if not self.attributes.message:
            self.attributes.message = getattr(function, "__name__", type(function).__name__)
        return _decorating.wrap(self.attributes.event, function)

    def __reduce__(self):
        own = self.attributes
        return type(self), (own.message or None, own.color, self.domain.name, own.category, own.payload)


def mark(message=None, color=None, domain=None, category=None, payload=None, *, msg=None):
    """Records an instant.

    >>> mark("cache miss")
    >>> mark("reload", color="red", domain="reader", payload=3)
    """
    text = msg if message is None else message
    if color is None and domain is None and category is None and payload is None:
        _mark("" if text is None else text)
    elif _ENABLED:
        get_domain(domain).get_event_attributes(text, color, category, payload).event.mark()


def push_range(message=None, color=None, domain=None, category=None, payload=None):
    """Opens a nested range of a domain on this thread.

    >>> push_range("load", domain="reader")
    >>> pop_range(domain="reader")
    """
    if _ENABLED:
        get_domain(domain).get_event_attributes(message, color, category, payload).event.push()


def pop_range(domain=None):
    """Closes the innermost range of a domain on this thread."""
    if _ENABLED:
        get_domain(domain).pop_range()


def start_range(message=None, color=None, domain=None, category=None, payload=None):
    """Opens a range that may end on another thread. Returns its RangeId.

    >>> request = start_range("request", color="orange")
    >>> end_range(request)
    """
    if not _ENABLED:
        return RangeId(0, _DEFAULT)
    attributes = get_domain(domain).get_event_attributes(message, color, category, payload)
    return RangeId(attributes.event.start(), attributes.domain_name)


def end_range(range_id):
    """Ends a range of start_range, on any thread."""
    if isinstance(range_id, tuple) and len(range_id) == 2:
        range_id = range_id[0]
    if _ENABLED:
        range_end(range_id)


class Profile:
    """Records every Python function as a range, between enable() and disable().

    `linenos` and `annotate_cfuncs` have the meaning of PyPI's nvtx: the line of each function is always recorded;
    functions that are written in C are recorded if annotate_cfuncs is true.

    >>> profile = Profile()
    >>> profile.enable()
    >>> profile.disable()
    """

    def __init__(self, linenos=True, annotate_cfuncs=True):
        self._wants_c = bool(annotate_cfuncs)
        self._tracing = None

    def enable(self):
        """Starts to record functions. Does nothing if it records already."""
        from kymo.functions import trace_functions
        if self._tracing is None and _ENABLED:
            self._tracing = trace_functions(c_functions=self._wants_c)

    def disable(self):
        """Stops. Does nothing if it does not record."""
        tracing, self._tracing = self._tracing, None
        if tracing is not None:
            tracing.stop()
