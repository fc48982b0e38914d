#!/usr/bin/env python3
"""The prompt of `kymo query` on a terminal: statements of several lines, errors, Ctrl-C and the end."""
import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import time

from waiting import wait_until

BIN = pathlib.Path(os.environ["KYMO_BINARY_DIR"]) / "bin"
LIMIT_SECONDS = 600
ENDLESS = "SELECT count(*) FROM range(1_000_000_000_000) AS t(x) WHERE hash(x) % 7 = 3;"


class Prompt:
    """`kymo query` with a terminal as its standard streams."""

    def __init__(self, trace):
        self.ours, theirs = pty.openpty()

        def take_terminal():  # Ctrl-C is a signal only if the terminal belongs to the process
            os.setsid()
            import fcntl
            import termios
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([BIN / "kymo", "query", trace], stdin=theirs, stdout=theirs, stderr=theirs,
                                        preexec_fn=take_terminal, env={**os.environ, "NO_COLOR": "1"})
        os.close(theirs)
        self.text = ""

    def read(self, seconds):
        """Reads what arrives in this time; False if nothing does."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return False
        try:
            self.text += os.read(self.ours, 65536).decode()
            return True
        except OSError:  # how Linux says that the other end is closed
            return False

    def expect(self, wanted):
        """Waits for a text, and returns everything up to it."""
        while wanted not in self.text:
            if not self.read(LIMIT_SECONDS):
                sys.exit(f"no {wanted!r} in:\n{self.text}")
        before, _, self.text = self.text.partition(wanted)
        return before

    def type(self, text):
        os.write(self.ours, text.encode())


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/run.kymo"
        subprocess.run([BIN / "annotates"], env={**os.environ, "KYMO_TRACE": trace}, check=True,
                       stdout=subprocess.DEVNULL)
        probe = subprocess.run([BIN / "kymo", "query", trace, "SELECT 1"], capture_output=True, text=True)
        if "DuckDB is not installed" in probe.stderr:
            print(f"SKIPPED: {probe.stderr.strip()}")
            sys.exit(77)

        prompt = Prompt(trace)
        prompt.expect("kymo> ")
        prompt.type("SELECT\n")
        prompt.expect("  ... ")
        prompt.type("6 * 7 AS answer;\n")
        check("42" in prompt.expect("kymo> "), "a statement of two lines has a result")
        prompt.type("SELEC 1;\n")
        check("Parser Error" in prompt.expect("kymo> "), "an error is shown, and the prompt continues")
        prompt.type("SELECT count(*) > 0 AS some FROM ranges;\n")
        check("true" in prompt.expect("kymo> "), "the trace has ranges")
        # The terminal drops a line that was not read before Ctrl-C, so both are repeated.
        end = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < end:
            prompt.type(ENDLESS + "\n")
            prompt.read(1)
            time.sleep(1)
            prompt.type("\x03")
            prompt.read(1)
            if "interrupted" in prompt.text:
                break
        prompt.expect("interrupted")
        prompt.expect("kymo> ")
        prompt.type("SELECT 1234567,")
        prompt.expect("1234567,")  # the echo comes after all that the statements above have printed
        prompt.type("\x03")
        prompt.expect("kymo> ")
        prompt.type("SELECT 6 * 7 AS answer;\n")
        check("42" in prompt.expect("kymo> "), "Ctrl-C drops the line, and the prompt is shown again")
        prompt.type("SELEC 1;\n")
        check("LINE 1" in prompt.expect("kymo> "), "the lines of an error count from the statement")
        prompt.type("help\n")
        prompt.expect("allocations and frees of memory")
        prompt.expect("Examples")
        prompt.expect("kymo> ")
        prompt.type("\x04")
        check(prompt.process.wait(LIMIT_SECONDS) == 0, "Ctrl-D ends the prompt")
        prompt = Prompt(trace)
        prompt.expect("kymo> ")
        prompt.type(" exit ; \n")
        check(prompt.process.wait(LIMIT_SECONDS) == 0, "exit ends the prompt, also with a semicolon")

        # A statement of the command line: the exit code is that of a shell.
        process = subprocess.Popen([BIN / "kymo", "query", trace, ENDLESS], stderr=subprocess.PIPE, text=True)
        def interrupt():
            time.sleep(0.5)
            process.send_signal(2)
            return process.poll() is not None

        wait_until(interrupt, "Ctrl-C ends kymo query")
        check(process.returncode in (130, -2), f"Ctrl-C gives 130, not {process.returncode}")


main()
