"""Waits of tests. Each has a limit, which only a hang reaches, and says what it waited for."""

import time

LIMIT_SECONDS = 600


def wait_until(condition, what, log=None):
    """Checks every 50 ms until it holds. Fails after the limit, with `what` and the text that `log` returns."""
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {LIMIT_SECONDS} s: {what}" + (f": {log()}" if log else ""))
        time.sleep(0.05)
