"""Annotations as decorators of functions."""
import functools
import inspect
import sys

from kymo._annotate import range_end


def wrap(annotation, function):
    """`function`, inside a range on each call. `annotation` is a range or an event of kymo._annotate.

    The range is around the body, also if the body runs later than the call:

    - A coroutine function has a range that may overlap with others, because tasks take turns on their thread: from the
      first step to its end.
    - A generator function has a nested range each time that the generator runs, from next() to the yield.
    - An asynchronous generator function has a range that may overlap each time that an item is requested, until the item
      is there.

    Wrong arguments of a generator function are an error when the generator runs first, not when the function is called.

    >>> from kymo import nvtx
    >>> @nvtx.range("numbers")
    ... def numbers():
    ...     yield 1
    ...     yield 2
    >>> list(numbers())
    [1, 2]
    """
    if not callable(function):
        raise TypeError(f"a range can decorate a function, not {type(function).__name__}")
    if _is(inspect.iscoroutinefunction, function):
        made = _coroutine(annotation, function)
    elif _is(inspect.isasyncgenfunction, function):
        made = _async_generator(annotation, function)
    elif _is(inspect.isgeneratorfunction, function):
        made = _generator(annotation, function)
    else:
        def made(*args, **kwargs):
            with annotation:
                return function(*args, **kwargs)
    return functools.wraps(function)(made)


def _is(kind, function):
    """Whether a function is of a kind. An object is what its __call__ is, and a static method what its function is."""
    return (kind(function) or kind(getattr(type(function), "__call__", None))
            or (isinstance(function, staticmethod) and kind(function.__func__)))


def _coroutine(annotation, function):
    async def wrapper(*args, **kwargs):
        number = annotation.start()
        try:
            return await function(*args, **kwargs)
        finally:
            range_end(number)

    return wrapper


def _generator(annotation, function):
    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        resume, value = generator.send, None
        while True:
            try:
                with annotation:
                    item = resume(value)
            except StopIteration as end:
                return end.value
            try:
                value = yield item
                resume = generator.send
            except GeneratorExit:
                with annotation:
                    generator.close()
                raise
            except BaseException as error:
                resume, value = generator.throw, error

    return wrapper


def _asend_without_hooks(generator, value):
    """The first asend() of a generator that only its caller closes: an event loop would close it at the same time."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return generator.asend(value)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _async_generator(annotation, function):
    async def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        resume, value = functools.partial(_asend_without_hooks, generator), None
        while True:
            number = annotation.start()
            try:
                item = await resume(value)
            except StopAsyncIteration:
                return
            finally:
                range_end(number)
            try:
                value = yield item
                resume = generator.asend
            except GeneratorExit:
                number = annotation.start()
                try:
                    await generator.aclose()
                finally:
                    range_end(number)
                raise
            except BaseException as error:
                resume, value = generator.athrow, error

    return wrapper
