from typing import SupportsIndex, Union

Colour = Union[None, str, SupportsIndex, tuple[float, ...], list[float]]
NAMES: dict[str, int]

def argb(colour: Colour) -> int: ...
