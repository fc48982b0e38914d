"""Colours of annotations: a name, "#rrggbb", a number 0xAARRGGBB, or three numbers from 0 to 1."""
from kymo.errors import InvalidArgument

# What PyPI's nvtx and matplotlib call the usual colours.
NAMES = {
    "black": 0x000000, "blue": 0x0000FF, "brown": 0xA52A2A, "cyan": 0x00FFFF, "darkgreen": 0x006400, "gold": 0xFFD700,
    "gray": 0x808080, "green": 0x008000, "grey": 0x808080, "indigo": 0x4B0082, "lime": 0x00FF00, "magenta": 0xFF00FF,
    "maroon": 0x800000, "navy": 0x000080, "olive": 0x808000, "orange": 0xFFA500, "pink": 0xFFC0CB, "purple": 0x800080,
    "rapids": 0x7400FF, "red": 0xFF0000, "silver": 0xC0C0C0, "teal": 0x008080, "violet": 0xEE82EE, "white": 0xFFFFFF,
    "yellow": 0xFFFF00,
}
_OPAQUE = 0xFF000000


def argb(colour):
    """The colour as 0xAARRGGBB; 0 for None.

    >>> hex(argb("red")), hex(argb("#00ff7f")), hex(argb(0x102030)), hex(argb((1, 0.5, 0))), argb(None)
    ('0xffff0000', '0xff00ff7f', '0xff102030', '0xffff8000', 0)
    """
    if colour is None:
        return 0
    if isinstance(colour, str):
        return _from_text(colour)
    if isinstance(colour, (tuple, list)) and len(colour) in (3, 4) and all(0 <= part <= 1 for part in colour):
        red, green, blue = (round(255 * part) for part in colour[:3])
        return _OPAQUE | red << 16 | green << 8 | blue
    if hasattr(colour, "__index__"):
        value = colour.__index__()
        if not 0 <= value <= 0xFFFFFFFF:
            raise InvalidArgument(f"color is {value:#x}; it must be from 0 to 0xffffffff")
        return value if value & _OPAQUE else value | _OPAQUE
    raise TypeError(f"color must be a name, an int or three numbers from 0 to 1, not {type(colour).__name__}")


def _from_text(text):
    name = text.strip().lower()
    if name in NAMES:
        return _OPAQUE | NAMES[name]
    if len(name) == 7 and name[0] == "#":
        try:
            return _OPAQUE | int(name[1:], 16)
        except ValueError:
            pass
    try:
        from matplotlib.colors import to_rgb
        return argb(tuple(to_rgb(text)))
    except (ImportError, ValueError):
        pass
    raise InvalidArgument(f'"{text}" is not a color; use "#rrggbb", or one of: {", ".join(NAMES)}')
