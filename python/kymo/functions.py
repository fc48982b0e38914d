"""Every Python function of a program as a range."""
import os
import sys
import threading
import warnings

from kymo import _annotate
from kymo.errors import Error

_lock = threading.Lock()
_running = None


class Tracing:
    """A tracing of functions that runs. stop() ends it, and so does the end of a with statement."""

    def __init__(self, c_functions):
        self._hooks = _Monitoring() if hasattr(sys, "monitoring") else _Profile()
        own = os.path.dirname(__file__) + os.sep
        _annotate.open_tracer(own, c_functions, threading._active)
        try:
            self._hooks.start(c_functions)
        except BaseException:
            _annotate.close_tracer()
            raise

    def stop(self):
        """Ends the tracing. A second call does nothing."""
        global _running
        with _lock:
            if _running is not self:
                return
            _running = None
            was_replaced = self._hooks.stop()
            _annotate.close_tracer()
        if was_replaced:
            warnings.warn("another profiler has replaced the one of kymo.trace_functions() (sys.setprofile, cProfile): the "
                          "functions of this thread that ran after that are not recorded", RuntimeWarning, stacklevel=2)

    def __enter__(self):
        if _running is not self:
            raise Error("this tracing of functions has ended: start another one with kymo.trace_functions()")
        return self

    def __exit__(self, *_exception):
        self.stop()
        return False


def trace_functions(*, c_functions=False):
    """Records every Python function of this process as a range, on all threads, until stop() is called.

    The names are as in "Loader.read (data.py:12)", and the category is "python". With `c_functions`, functions that are
    written in C are recorded too, in the category "python C". A coroutine has a range for each of its steps. Each task of
    asyncio is a track with its name: a range from its first step to its end, and one for each step.

    Nothing is recorded while no recording runs. For scripts that cannot be changed: `kymo record --python`.

    >>> import kymo
    >>> with kymo.trace_functions():
    ...     _ = sorted([3, 1, 2], key=lambda x: -x)
    """
    global _running
    with _lock:
        if _running is not None:
            raise Error("the functions of this process are recorded already; stop() the other tracing first")
        _running = Tracing(bool(c_functions))
        return _running


class _Monitoring:
    """The hooks of Python 3.12 and later, for all threads."""

    def start(self, c_functions):
        monitoring = sys.monitoring
        # The usual number of profilers, or any that is free.
        for tool in (monitoring.PROFILER_ID, 3, 4, 1, 5, 0):
            if monitoring.get_tool(tool) is None:
                break
        else:
            raise Error("all tools of sys.monitoring are in use: functions cannot be recorded")
        self._tool = tool
        monitoring.use_tool_id(tool, "kymo")
        events = monitoring.events
        callbacks = {
            events.PY_START: _annotate.on_start,
            events.PY_RESUME: _annotate.on_start,
            events.PY_THROW: _annotate.on_start,
            events.PY_RETURN: _annotate.on_end,
            events.PY_YIELD: _annotate.on_end,
            events.PY_UNWIND: _annotate.on_end,
        }
        if c_functions:
            callbacks.update({events.CALL: _annotate.on_call, events.C_RETURN: _annotate.on_c_return,
                              events.C_RAISE: _annotate.on_c_return})
        wanted = 0
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
            if event not in (events.C_RETURN, events.C_RAISE):  # CALL controls these two
                wanted |= event
        self._events = list(callbacks)
        monitoring.set_events(tool, wanted)

    def stop(self):
        monitoring = sys.monitoring
        monitoring.set_events(self._tool, 0)
        for event in self._events:
            monitoring.register_callback(self._tool, event, None)
        monitoring.free_tool_id(self._tool)
        return False


class _Profile:
    """The hook of older versions, which each thread sets for itself."""

    def start(self, c_functions):
        if sys.getprofile() is not None:
            raise Error("another profiler runs (sys.setprofile): stop it first")
        self._thread = threading.get_ident()
        self._before = threading._profile_hook
        threading.setprofile(self._first_event)
        _annotate.profile_other_threads(True)
        _annotate.profile_thread(True)

    def stop(self):
        """Whether somebody has replaced the hook of the thread that started the tracing, as far as it can be seen."""
        was_replaced = threading.get_ident() == self._thread and sys.getprofile() is not _annotate
        if not was_replaced:
            _annotate.profile_thread(False)
        _annotate.profile_other_threads(False)
        threading.setprofile(self._before)
        return was_replaced

    @staticmethod
    def _first_event(_frame, _event, _argument):
        """The first event of a new thread: from now on the C function gets them."""
        _annotate.profile_thread(_running is not None)
