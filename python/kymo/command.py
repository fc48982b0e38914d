"""The command `kymo`: where it is, and its output."""
import os
import pathlib
import shutil
import subprocess

from kymo.errors import Error, NotAvailable


def find():
    """The path of the command of this installation, otherwise the one of PATH.

    KYMO_COMMAND=/path/to/kymo names another one. Raises kymo.NotAvailable if there is none.
    """
    named = os.environ.get("KYMO_COMMAND")
    if named:
        return named
    # build/release/python/kymo, or PREFIX/lib/python3/dist-packages/kymo
    for above in list(pathlib.Path(__file__).resolve().parents)[2:6]:
        command = above / "bin" / "kymo"
        if command.is_file() and os.access(command, os.X_OK):
            return str(command)
    found = shutil.which("kymo")
    if found is None:
        raise NotAvailable("the command kymo is not installed beside this package nor in PATH; install it, or set "
                           "KYMO_COMMAND to its path")
    return found


def run(*arguments, input=""):
    """What `kymo ARGUMENTS` prints, with this standard input. Raises kymo.Error with its message if it fails.

    >>> run("--version").split()[0]
    'kymo'
    """
    return run_with_messages(*arguments, input=input)[0]


def run_with_messages(*arguments, input=""):
    """The same with the lines that it prints to standard error: what is lost or damaged."""
    environment = {name: value for name, value in os.environ.items() if name != "KYMO_TRACE"}
    done = subprocess.run([find(), *map(os.fspath, arguments)], input=input, capture_output=True, encoding="utf-8",
                          errors="backslashreplace", env=environment)
    if done.returncode != 0:
        message = done.stderr.strip() or f"exit status {done.returncode}"
        raise Error(f"kymo {arguments[0]}: {message.removeprefix('kymo: ')}")
    return done.stdout, done.stderr.splitlines()
