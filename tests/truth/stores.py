"""The stores of a fleet: a folder of Parquet files, and a ClickHouse server. Both must give the same answer."""

import atexit
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

from kit import BIN

os.environ.setdefault("KYMO_BINARY_DIR", str(BIN.parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "fleet"))
import clickhouse  # noqa: E402


@functools.cache
def server():
    """One for all seeds of a topic. None, which is said once: it is not installed here."""
    if clickhouse.chdb_library() is None:
        print("SKIPPED in part: no ClickHouse here (scripts/install-chdb, only for x86-64): answers of folders only")
        return None
    folder = tempfile.TemporaryDirectory(prefix="kymo-truth-server-")
    one = clickhouse.Server(folder.name).start()
    atexit.register(lambda: (one.kill(), folder.cleanup()))
    return one


def stores(case, *pushes):
    """Databases in which the files are, of those that this machine has: `pushes` are (files, more words of push)."""
    if not (BIN.parent / "libexec/kymo/kymo-fleet").exists():
        case.true("the fleet is not built", True)
        return []
    urls = [f"parquet:{case.folder}/store"]
    if server() is not None:
        urls.append(server().url(f"seed{case.seed}"))
    for url in list(urls):
        for files, *more in pushes:
            done = subprocess.run([BIN / "kymo", "push", *files, url, "-q", *more], capture_output=True, text=True)
            if "DuckDB" in done.stderr:
                print(f"SKIPPED in part: {done.stderr.strip()}")
                urls.remove(url)
                break
            case.true(f"push: {done.stderr}", done.returncode == 0)
    case.true("there is a store, or it is said which one is not installed", True)
    return urls


def ask(case, urls, question, *more, exit_code=0):
    """The answer of all databases, which must be the same in each."""
    more = list(map(str, more))
    answers = [case.json("fleet", question, "--db", url, *more, exit_code=exit_code) for url in urls]
    for url, answer in zip(urls[1:], answers[1:]):
        case.equal(f"{question} {' '.join(more)}: {url.split(':')[0]} and the folder", answer, answers[0])
    return answers[0]


def cut(case, trace, name, share=None):
    """A recording without its end, which must not be in any answer."""
    whole = trace.write(case.folder / f"{name}.json")
    path = case.folder / f"{name}.kymo"
    case.run("import", whole, "-o", path)
    content = path.read_bytes()
    end = int(len(content) * (share or case.random.uniform(0.5, 0.95)))
    while content[end:].startswith(b"\x93KYMO"):  # a beginning that ends with a chunk is a trace of its own
        end -= 1
    path.write_bytes(content[:end])
    whole.unlink()
    return path


def check_cut(case, answer, count):
    """The line of what was left out counts the cut files."""
    said = [note for note in answer["notes"] if note.startswith("not counted: ") and "incomplete trace" in note]
    want = [f"not counted: {count} incomplete trace{'' if count == 1 else 's'}, because"] if count else []
    case.equal("cut files that are named", [note[:len(line)] for note, line in zip(said, want)] or said, want)
