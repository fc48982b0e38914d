"""Puts kymo.nvtx in the place of `nvtx` and `torch.cuda.nvtx`, for code that cannot be changed."""
import sys

# What code calls of torch.cuda.nvtx.
_TORCH_NAMES = ("range_push", "range_pop", "range_start", "range_end", "mark", "range", "_device_range_start",
                "_device_range_end")
_ABSENT = object()
_before = None  # what install() replaced: [(object with attributes or sys.modules, name, value)]


def install():
    """Replaces the modules `nvtx` and `torch.cuda.nvtx` by kymo.nvtx, whether they are imported yet or not.

    Functions that other modules imported by name before this call stay what they are, so call it early. A second call
    does nothing. uninstall() takes it back.

    >>> import kymo
    >>> kymo.nvtx.install()
    >>> import nvtx
    >>> nvtx is kymo.nvtx
    True
    >>> kymo.nvtx.uninstall()
    """
    global _before
    from kymo import nvtx
    if _before is not None:
        return
    _before = []
    torch_nvtx = sys.modules.get("torch.cuda.nvtx")
    if torch_nvtx is not None:
        # Modules may hold the module itself: its functions change too.
        for name in _TORCH_NAMES:
            _replace_attribute(torch_nvtx, name, getattr(nvtx, name))
        torch_cuda = sys.modules.get("torch.cuda")
        if torch_cuda is not None:
            _replace_attribute(torch_cuda, "nvtx", nvtx)
    for name in ("nvtx", "torch.cuda.nvtx"):
        _before.append((None, name, sys.modules.get(name, _ABSENT)))
        sys.modules[name] = nvtx


def uninstall():
    """Takes install() back."""
    global _before
    replaced, _before = _before or [], None
    from kymo import nvtx
    for owner, name, value in reversed(replaced):
        if owner is not None:
            setattr(owner, name, value) if value is not _ABSENT else delattr(owner, name)
        elif value is not _ABSENT:
            sys.modules[name] = value
        else:
            sys.modules.pop(name, None)
    # torch may have been imported in between; it then has this module as its own.
    torch_cuda = sys.modules.get("torch.cuda")
    if torch_cuda is not None and getattr(torch_cuda, "nvtx", None) is nvtx:
        import importlib
        delattr(torch_cuda, "nvtx")
        torch_cuda.nvtx = importlib.import_module("torch.cuda.nvtx")


def _replace_attribute(owner, name, value):
    _before.append((owner, name, getattr(owner, name, _ABSENT)))
    setattr(owner, name, value)
