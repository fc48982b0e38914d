"""Loaded by every Python that `kymo record --python` starts: begins to record functions before the script does.

The folder of this file is in PYTHONPATH. The package is loaded from beside it, so that no other package of its folder
becomes visible to the script. A sitecustomize of the user is loaded afterwards, as if this one were not there.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _load_kymo():
    import importlib.util
    package = os.path.dirname(_FOLDER)
    spec = importlib.util.spec_from_file_location("kymo", os.path.join(package, "__init__.py"),
                                                  submodule_search_locations=[package])
    module = importlib.util.module_from_spec(spec)
    sys.modules["kymo"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop("kymo", None)
        raise
    return module


def _start():
    wanted = os.environ.get("KYMO_PYTHON_FUNCTIONS", "")
    if not wanted:
        return
    try:
        if sys.version_info < (3, 11):
            raise ImportError("Python %d.%d is too old: 3.11 is needed" % sys.version_info[:2])
        kymo = _load_kymo()
        # Until the interpreter ends. The import of the script's modules is recorded too.
        kymo.trace_functions(c_functions=wanted == "all")
    except Exception as error:
        print("kymo: the Python functions of this program are not recorded: %s" % error, file=sys.stderr)


def _load_the_other_one():
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _FOLDER]
    sys.modules.pop("sitecustomize", None)
    # If there is no other one, its ImportError ends this import too. Python expects this error: most have no sitecustomize.
    import sitecustomize  # noqa: F401


_start()
_load_the_other_one()
