"""A profiler of loops, as torch.profiler's users write it, on a recording of Kymo.

>>> from kymo.profiler import profile, record_function, schedule
>>> with profile(schedule=schedule(wait=1, warmup=1, active=2)) as prof:
...     for step in range(4):
...         with record_function("forward"):
...             pass
...         prof.step()
>>> prof.key_averages()["forward"].count
2
>>> prof.export_chrome_trace("trace.json")
"""
import collections.abc
import ctypes
import enum
import gzip
import json
import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
import warnings

from kymo import _annotate, command, decorating, ondemand
from kymo.averages import EventAverage, EventAverages, of_events
from kymo.errors import Error, InvalidArgument

__all__ = [
    "EventAverage", "EventAverages", "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What to record. Kymo records the program and its device work together, so each of them is accepted."""

    CPU = 0
    CUDA = 1
    XPU = 2
    MTIA = 3
    HPU = 4
    MPS = 5
    PrivateUse1 = 6


class ProfilerAction(enum.Enum):
    """What a step does. A schedule returns it."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities():
    """All activities.

    >>> ProfilerActivity.CPU in supported_activities()
    True
    """
    return set(ProfilerActivity)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Which steps are recorded: after `skip_first` steps, cycles of `wait`, `warmup` and `active` steps.

    `repeat` is the number of cycles; 0: no end. If `skip_first_wait` is not 0, the first cycle has no `wait`.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, value in given.items():
        if value < (1 if name == "active" else 0):
            raise InvalidArgument(f"schedule: {name} is {value}; it must be at least {1 if name == 'active' else 0}")
    if warmup == 0:
        warnings.warn("a schedule without warmup: the first recorded step may be slower than the others", stacklevel=2)
    length = wait + warmup + active

    def action_of(step):
        if step < 0:
            raise InvalidArgument(f"schedule: step {step} is negative")
        if step < skip_first:
            return ProfilerAction.NONE
        step += wait - skip_first if skip_first_wait else -skip_first
        if repeat > 0 and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


class record_function:
    """A range with a name, as a with statement or around a function. `args` is a text that the trace shows with it.

    >>> with record_function("forward", "batch 7"):
    ...     pass
    """

    __slots__ = ("name", "args", "_event")

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._event = _annotate.Event(name, "", 0, 0, None, args)

    def __enter__(self):
        self._event.push()
        return self

    def __exit__(self, *_exception):
        self._event.pop()
        return False

    def __call__(self, function):
        return decorating.wrap(self._event, function)


def _remove_folder(folder, listdir=os.listdir, unlink=os.unlink, rmdir=os.rmdir):
    """Removes the files of a recording, by functions in C alone: another profile() may be recording those of Python."""
    try:
        for name in listdir(folder):
            unlink(f"{folder}/{name}")
        rmdir(folder)
    except OSError:  # somebody else removed them, or uses them
        pass


class profile:
    """Records a program, or those steps of it that a schedule selects.

    If PyTorch is imported, its operators are recorded, and the kernels that they launch.

    `on_trace_ready` is called with the profiler whenever a recording is complete; there export_chrome_trace(),
    export(), key_averages() and events() work. `with_stack` records every Python function. `record_shapes`,
    `profile_memory`, `with_flops` and `with_modules` go to the clients of kymo.ondemand: frameworks that report their
    operations. If something records the process already (kymo record, KYMO_TRACE, a kymo.Session, another profile, or
    kymo trigger), that trace has everything, and this class adds only the steps: its results are errors that name the
    recording.
    """

    _recording = None  # the profiler whose recording runs; a process has one at a time

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False, with_modules=False, experimental_config=None,
                 execution_trace_observer=None, acc_events=False, use_cuda=None, custom_trace_id_callback=None):
        if activities is not None and not isinstance(activities, collections.abc.Iterable):
            raise TypeError(f"activities must be a list of ProfilerActivity, not {type(activities).__name__}")
        activities = set(activities or ())
        for activity in activities:
            if getattr(activity, "name", None) not in ProfilerActivity.__members__:
                raise InvalidArgument(f"{activity!r} is not an activity; use kymo.profiler.ProfilerActivity")
        if schedule is not None and not callable(schedule):
            raise TypeError(f"schedule must be a function of the step, not {type(schedule).__name__}")
        if on_trace_ready is not None and not callable(on_trace_ready):
            raise TypeError(f"on_trace_ready must be a function, not {type(on_trace_ready).__name__}")
        self.activities = activities or supported_activities()
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.step_num = 0
        self._step_start = 0  # when the current step began, in ticks
        self.current_action = ProfilerAction.NONE
        self._metadata = {}
        self._folder = self._path = self._functions = None
        self._is_running = self._is_recording = False
        self._outside = None  # who records the process instead, in words

    # ---- A run ------------------------------------------------------------------------------------------------------

    def start(self):
        """Begins with step 0."""
        if self._is_running:
            raise Error("this profiler runs already")
        self._is_running = True
        self._outside = _who_records()
        self.step_num = 0
        self.current_action = self._action()
        if self.current_action in _RECORDING:
            self._begin()
        self._step_start = _annotate.ticks()

    def stop(self):
        """Ends the last step. A recording that runs is completed, and on_trace_ready is called for it."""
        if not self._is_running:
            return
        self._is_running = False
        if self._is_recording:
            self._end(is_ready=True)
        self.current_action = ProfilerAction.NONE

    def step(self):
        """The next step begins."""
        if not self._is_running:
            raise Error("this profiler does not run; call start(), or use a with statement")
        _annotate.record_step(self.step_num, self._step_start)
        ended, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self._action()
        if self._is_recording and ended is ProfilerAction.RECORD_AND_SAVE:
            self._end(is_ready=True)  # on_trace_ready sees the number of the next step, as in PyTorch
        if self.current_action in _RECORDING and not self._is_recording:
            self._begin()
        elif self.current_action not in _RECORDING and self._is_recording:
            self._end(is_ready=False)
        ondemand.step()
        self._step_start = _annotate.ticks()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_exception):
        self.stop()
        return False

    def _action(self):
        if self.schedule is None:
            return ProfilerAction.RECORD
        action = self.schedule(self.step_num)
        name = getattr(action, "name", None)  # torch's own actions have the same names
        if name not in ProfilerAction.__members__:
            raise InvalidArgument(f"the schedule returned {action!r} for step {self.step_num}; use ProfilerAction")
        return ProfilerAction[name]

    def _begin(self):
        if not self._outside:
            self._remove_files()
            self._folder = tempfile.mkdtemp(prefix="kymo-profile-")
            self._path = os.path.join(self._folder, "profile.kymo")
            _listen_to_torch()
            try:
                ondemand.prepare(bool(self.record_shapes), bool(self.profile_memory), bool(self.with_stack),
                                 bool(self.with_flops), bool(self.with_modules))
                ondemand.start(self._path)
            except BaseException:
                self._remove_files()
                raise
            profile._recording = self
        self._is_recording = True
        if self.with_stack:
            from kymo.functions import trace_functions
            self._functions = trace_functions()

    def _end(self, is_ready):
        functions, self._functions = self._functions, None
        if functions is not None:
            functions.stop()
        self._is_recording = False
        if not self._outside:
            profile._recording = None
            ondemand.stop()
        if is_ready and self.on_trace_ready is not None and not self._outside:
            self.on_trace_ready(self)

    # ---- Results ----------------------------------------------------------------------------------------------------

    @property
    def trace_path(self):
        """The trace of the last recording, for the commands of kymo. It is deleted with the profiler."""
        if self._outside:
            raise Error(self._outside)
        if self._is_recording:
            raise Error("the recording still runs; call stop(), or wait for on_trace_ready")
        if self._path is None:
            raise Error("nothing was recorded: no step was active" if self.schedule else "nothing was recorded yet")
        return self._path

    def export(self, path):
        """Writes the trace; the extension selects the format: .kymo, .json, .pftrace, .csv, .json.gz."""
        path = os.fspath(path)
        if path.endswith(".kymo"):
            shutil.copyfile(self.trace_path, path)
        else:
            command.run("export", self.trace_path, "-o", path)

    def export_chrome_trace(self, path):
        """Writes the trace as Chrome JSON, for ui.perfetto.dev and chrome://tracing; compressed if it ends with .gz."""
        path = os.fspath(path)
        with tempfile.TemporaryDirectory(prefix="kymo-export-") as folder:
            plain = os.path.join(folder, "trace.json")
            command.run("export", self.trace_path, "-o", plain)
            if self._metadata:
                with open(plain, encoding="utf-8") as file:
                    trace = json.load(file)
                trace.update(self._metadata)
                with open(plain, "w", encoding="utf-8") as file:
                    json.dump(trace, file)
            if path.endswith(".gz"):
                with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                    shutil.copyfileobj(source, target)
            else:
                shutil.move(plain, path)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """The time by name: see EventAverages.table(). Names of ranges have their arguments in them.

        With operators of PyTorch, work on devices belongs to the operator that launched it, and memory to the one that
        allocated it. A row may also stand for the shapes of inputs, or for the innermost functions of Python
        (with_stack).
        """
        if not group_by_input_shape and not group_by_stack_n and _adapters is None:
            return EventAverages.of_trace(self.trace_path)
        return of_events(self._trace_events(), group_by_input_shape, group_by_stack_n)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes the functions of Python and what they called, with a number of microseconds, for flamegraph.pl and
        speedscope. Needs with_stack; `metric` is self_cpu_time_total or self_device_time_total."""
        if metric not in ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total"):
            raise InvalidArgument(f'metric is "{metric}"; use self_cpu_time_total or self_device_time_total')
        if not self.with_stack:
            raise Error("this profiler has no stacks: use profile(with_stack=True)")
        with open(path, "w", encoding="utf-8") as file:
            for one in self.key_averages(group_by_stack_n=1000):
                if int(getattr(one, metric)) > 0 and not one.on_device:
                    frames = [*reversed(one.stack), one.key]
                    file.write(";".join(name.replace(";", ",") for name in frames) + f" {int(getattr(one, metric))}\n")

    def events(self):
        """All ranges as dictionaries of Chrome JSON, in the order of their start."""
        return sorted((event for event in self._trace_events() if event["ph"] == "X"), key=lambda event: event["ts"])

    def _trace_events(self):
        with tempfile.TemporaryDirectory(prefix="kymo-export-") as folder:
            plain = os.path.join(folder, "trace.json")
            command.run("export", self.trace_path, "-o", plain)
            with open(plain, encoding="utf-8") as file:
                return json.load(file)["traceEvents"]

    def add_metadata(self, key, value):
        """Adds a text to what export_chrome_trace() writes."""
        self._metadata[str(key)] = str(value)

    def add_metadata_json(self, key, value):
        """The same with JSON."""
        self._metadata[str(key)] = json.loads(value)

    def _remove_files(self):
        folder, self._folder, self._path = self._folder, None, None
        if folder is not None:
            _remove_folder(folder)

    def __del__(self, remove_folder=_remove_folder):
        folder = getattr(self, "_folder", None)
        if folder is not None:
            remove_folder(folder)


_adapters = None  # libkymo_inject.so, if this module has loaded it


def _listen_to_torch():
    """From now on, recordings of this process have PyTorch's operators, and the work of CUDA if it is used."""
    global _adapters
    torch = sys.modules.get("torch")
    if _adapters is not None or torch is None:
        return
    variable = "CUDA_INJECTION64_PATH"
    for line in command.run("env", "--without", "openmp,opencl,vulkan").splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        if name == variable:
            path, = shlex.split(value)
            _adapters = ctypes.CDLL(path)
            if torch.cuda.is_initialized() and os.environ.get(variable) != path:
                _adapters.InitializeInjection()  # what CUDA calls when it is used first
            os.environ.setdefault(variable, path)


def _who_records():
    """Who records this process, and where the results are; None: nobody."""
    if not _annotate.is_recording():
        return None
    if profile._recording is not None:
        return "another profile() records this process: its results have everything that ran inside of this one"
    if os.environ.get("KYMO_SESSION") or os.environ.get("KYMO_TRACE"):
        return "kymo record or KYMO_TRACE records this process: its trace has the results"
    session = _annotate.session_path()
    if session is not None:
        return f"kymo.Session({session!r}) records this process: its trace has the results, kymo.open({session!r}) after close()"
    return "kymo trigger or kymo.ondemand.start() records this process: its trace has the results"


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """For on_trace_ready: writes each recording to DIR/WORKER.TIME.pt.trace.json.

    >>> with profile(on_trace_ready=tensorboard_trace_handler("log", worker_name="rank0")):
    ...     pass
    >>> import os
    >>> [name.endswith(".pt.trace.json") for name in os.listdir("log")]
    [True]
    """
    def write(finished):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        finished.export_chrome_trace(os.path.join(dir_name, name))

    return write
