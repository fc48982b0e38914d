"""For tests of `kymo push`: a ClickHouse server and the traces of four ranks, and a database for each test."""
import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

STEPS, NAMES = 10, 20
OPERATIONS = NAMES + 3  # per trace: the operators, the step itself, a kernel and a collective


class PushedTraces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-push-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.server = clickhouse.Server(cls.folder / "server").start()
        cls.traces = []
        for rank in range(4):
            json_file = write_trace(cls.folder / f"rank{rank}.json", rank=rank, slow_collective=rank == 2)
            kymo("import", json_file, "-o", cls.folder / f"rank{rank}.kymo")
            cls.traces.append(str(cls.folder / f"rank{rank}.kymo"))

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.temporary.cleanup()

    def setUp(self):
        self.database = "d" + self.id().rsplit(".", 1)[-1]
        self.url = self.server.url(self.database)
