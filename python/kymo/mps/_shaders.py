"""The options of compile_shader(), as the module in C takes them."""
from collections.abc import Mapping

from kymo.errors import InvalidArgument, InvalidType


def _items(option, given):
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InvalidType(f"compile_shader: {option} must be a dict, not {type(given).__name__}")
    return given.items()


def _number(name, value):
    if not hasattr(type(value), "__float__"):  # a str has none
        raise InvalidType(f"compile_shader: constants[{name!r}] must be a number, a bool, or a list of 2 to 4 of them "
                          f"for a vector, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = None
    if number != value and value == value:  # a NaN differs from itself
        raise InvalidArgument(f"compile_shader: constants[{name!r}] is {value}, which a double cannot hold")
    return number


def constants(given):
    """Function constants: {name or index: number or list} as {text: float}. A vector has a number for "name.x", …"""
    numbers = {}
    for name, value in _items("constants", given):
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise InvalidType(f"compile_shader: a function constant is named by str or int, not {type(name).__name__}")
        if not isinstance(value, (list, tuple)):
            numbers[str(name)] = _number(name, value)
            continue
        if not 2 <= len(value) <= 4:
            raise InvalidArgument(f"compile_shader: constants[{name!r}] is a list of {len(value)}; a vector has 2 to 4")
        for component, each in zip("xyzw", value):
            numbers[f"{name}.{component}"] = _number(name, each)
    return numbers


def defines(given):
    """Macros: {name: text, number, bool or None} as options of the compiler."""
    options = []
    for name, value in _items("defines", given):
        if not isinstance(name, str):
            raise InvalidType(f"compile_shader: the name of a macro must be str, not {type(name).__name__}")
        if not name.isascii() or not name.isidentifier():
            raise InvalidArgument(f"compile_shader: {name!r} cannot be the name of a macro")
        if isinstance(value, bool):
            value = int(value)
        if "\n" in str(value) or "\r" in str(value):
            raise InvalidArgument(f"compile_shader: defines[{name!r}] has more than one line")
        options.append(f"-D{name}" if value is None else f"-D{name}={value}")
    return options


def headers(given):
    """Texts for #include: {name: text}."""
    for name, text in _items("headers", given):
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidType(f"compile_shader: headers[{name!r}] must be str, not {type(text).__name__}"
                              if isinstance(name, str) else
                              f"compile_shader: the name of a header must be str, not {type(name).__name__}")
    return dict(given or {})
