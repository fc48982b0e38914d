from typing import Any, Callable, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

def wrap(annotation: Any, function: _F) -> _F: ...
