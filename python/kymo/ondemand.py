"""Traces that another process asks for: `kymo trigger`, or dynolog's `dyno`.

    KYMO_DAEMON=1 python3 train.py                       # any script that imports kymo
    kymo trigger --name train --iterations 5             # from anywhere on the host

A script that calls step() in its main loop can be asked for a number of iterations:

>>> from kymo import ondemand
>>> for batch in range(3):
...     ondemand.step()
"""
import atexit

from kymo import _ondemand
from kymo._ondemand import (export_memory_profile, init, prepare, start, start_memory_profile, step, steps, stop,
                            stop_memory_profile)

__all__ = [
    "Client", "export_memory_profile", "init", "prepare", "register_client", "start", "start_memory_profile", "step",
    "steps", "stop", "stop_memory_profile", "unregister_client",
]

_clients = []


class Client:
    """What a framework does for a requested trace. Override what is needed.

    Calls come one at a time, from the agent's thread or from the thread that starts a trace in code. If a call raises,
    that trace ends and the requester gets the message. Kymo's own recording is active between start() and stop().

    >>> class Printer(Client):
    ...     def start(self):
    ...         print("a trace starts")
    >>> printer = Printer()
    >>> register_client(printer)
    >>> start("asked.kymo")
    a trace starts
    >>> stop()
    >>> unregister_client(printer)
    """

    def init(self):
        """Once, when the agent has started."""

    def prepare(self, report_input_shapes, profile_memory, with_stack, with_flops, with_modules):
        """The options of the coming trace."""

    def start(self):
        """A trace starts."""

    def stop(self):
        """It ends."""

    def start_memory_profile(self):
        """A memory profile starts."""

    def stop_memory_profile(self):
        """It ends."""

    def export_memory_profile(self, path):
        """Writes the format that the extension of the path names. Returns False if there is nothing to write."""
        return False


_CALLS = [name for name in vars(Client) if not name.startswith("_")]


def register_client(client):
    """Adds a client: a Client, or any object with some of its methods."""
    if not any(callable(getattr(client, name, None)) for name in _CALLS):
        raise TypeError(f"register_client: client must be a Client, or have one of its methods ({', '.join(_CALLS)}), not "
                        f"{type(client).__name__}")
    _ondemand.add_client(client)
    _clients.append(client)


def unregister_client(client):
    """Ends a running trace, and never calls the client again."""
    _ondemand.remove_client(client)
    _clients.remove(client)


@atexit.register
def _remove_clients():
    # The agent must not call into an interpreter that has ended.
    while _clients:
        unregister_client(_clients[-1])
