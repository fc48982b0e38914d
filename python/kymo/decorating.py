"""Annotations as decorators of functions."""
import functools
import inspect


def wrap(annotation, function):
    """`function`, inside a range on each call. `annotation` is a range or an event of kymo._annotate.

    A coroutine function gets a range that may overlap with others, because tasks take turns on their thread: from the
    first step to its end. A generator function gets a range around its creation only.
    """
    if not callable(function):
        raise TypeError(f"a range can decorate a function, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function):
        from kymo._annotate import range_end

        @functools.wraps(function)
        async def wrapper(*args, **kwargs):
            number = annotation.start()
            try:
                return await function(*args, **kwargs)
            finally:
                range_end(number)
    else:
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with annotation:
                return function(*args, **kwargs)
    return wrapper
