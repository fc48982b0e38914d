"""`python3 -m kymo record script.py`, and every other command of kymo: `python3 -m kymo stats script.kymo`.

`record` records a script, or a module with -m, with the interpreter that runs this: what it annotates, and the functions
that it runs. Options come before the script; --no-functions leaves out the functions. All other options, and all other
commands, are those of the command kymo.
"""
import os
import sys

from kymo import command
from kymo.errors import Error

# Options of `kymo record` that have a value as a word of its own.
_WITH_VALUE = {"-o", "--output", "--policy", "--flight", "--ring-size", "--with", "--without", "--sample", "--stacks"}


def split(arguments):
    """Splits the arguments of `record` into options and the script with its arguments.

    >>> split(["-o", "a.kymo", "--quiet", "train.py", "--epochs", "2"])
    (['-o', 'a.kymo', '--quiet'], ['train.py', '--epochs', '2'])
    >>> split(["-m", "pytest", "-x"])
    ([], ['-m', 'pytest', '-x'])
    """
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return arguments[:at], arguments[at + 1:]
        if word in ("-m", "-c") or not word.startswith("-"):
            break
        at += 2 if word in _WITH_VALUE else 1
    return arguments[:at], arguments[at:]


def record_arguments(arguments):
    """The arguments of the command kymo for `record` with these.

    >>> record_arguments(["-m", "train"])[:5]
    ['record', '--python', '-o', 'train.kymo', '--']
    """
    options, script = split(arguments)
    functions = "--no-functions" not in options
    options = [option for option in options if option != "--no-functions"]
    if {"-h", "--help"} & set(options):
        return ["record", "--help"]
    if not script or (script[0] in ("-m", "-c") and len(script) == 1):
        raise Error("no script given. Usage: python3 -m kymo record [options] SCRIPT [arguments]")
    if script[0] not in ("-m", "-c") and not os.path.exists(script[0]):
        raise Error(f"{script[0]}: no such file")
    if not any(option.split("=")[0] in ("-o", "--output") for option in options):
        name = script[1] if script[0] == "-m" else "python" if script[0] == "-c" else os.path.basename(script[0])
        options += ["-o", name.removesuffix(".py") + ".kymo"]
    # The script finds this package as we did, also if it is not installed.
    return ["record", *(["--python"] if functions else []), *options, "--", sys.executable, *script]


def main(arguments):
    try:
        path = command.find()
        if arguments[:1] == ["record"]:
            arguments = record_arguments(arguments[1:])
            folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            if "dist-packages" not in folder and "site-packages" not in folder:
                os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        os.execv(path, [path, *arguments])
    except (Error, OSError) as error:
        print(f"kymo: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
