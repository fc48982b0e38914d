#!/usr/bin/env python3
"""Every query of the Grafana dashboards, with what Grafana puts into it, against a real ClickHouse server."""
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

sys.path[:0] = map(str, pathlib.Path(__file__).parents[:2])
import clickhouse  # noqa: E402
from clickhouse import kymo, write_trace  # noqa: E402

DASHBOARDS = pathlib.Path(os.environ["KYMO_SOURCE_DIR"]) / "packaging" / "grafana"
JOB = "it's a job"


def filled(query, job=JOB):
    """As Grafana's ClickHouse data source fills it in."""
    now = int(time.time())
    query = re.sub(r"\$__timeFilter\((\w+)\)",
                   lambda column: f"{column[1]} >= toDateTime({now - 86_400}) AND {column[1]} <= toDateTime({now + 60})", query)
    query = query.replace("$__fromTime", f"toDateTime({now - 86_400})").replace("$__toTime", f"toDateTime({now + 60})")
    quoted = "'" + job.replace("\\", "\\\\").replace("'", "''") + "'"
    return query.replace("${job:sqlstring}", quoted).replace("$database", "kymo")


class DashboardsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kymo-dashboards-")
        cls.folder = folder = pathlib.Path(cls.temporary.name)
        cls.server = clickhouse.Server(folder / "server").start()
        file = write_trace(folder / "x.json", at_us=int(time.time() * 1e6) - 3_600_000_000)
        kymo("push", file, cls.server.url(), "--job", JOB)

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.temporary.cleanup()

    def test_every_query_runs_and_has_rows(self):
        seen = 0
        for path in [DASHBOARDS / "fleet.json", DASHBOARDS / "job.json"]:
            dashboard = json.loads(path.read_text())
            queries = [(one["name"], one["query"]) for one in dashboard["templating"]["list"] if one["type"] == "query"]
            queries += [(panel["title"], target["rawSql"]) for panel in dashboard["panels"]
                        for target in panel.get("targets", [])]
            for title, query in queries:
                with self.subTest(dashboard=path.name, query=title):
                    sql = filled(query)
                    self.assertNotIn("$", sql)
                    self.assertTrue(self.server.rows(sql + " FORMAT TabSeparated"), sql)
                    seen += 1
        self.assertGreaterEqual(seen, 9)

    def test_the_alert_is_about_a_job_that_became_slower(self):
        now = int(time.time() * 1e6)
        files = [write_trace(self.folder / f"slower{i}.json", at_us=now - (i + 1) * 3_600_000_000, steps=3, names=1,
                             scale=1.2 if i < 4 else 1.0) for i in range(24)]
        kymo("push", *files, self.server.url(), "--job", "slower", "-q")
        [group] = json.loads((DASHBOARDS / "alert.json").read_text())["groups"]
        for rule in group["rules"]:
            [[job, slower]] = self.server.rows(rule["data"][0]["model"]["rawSql"] + " FORMAT TabSeparated")
            self.assertEqual(job, "slower")
            self.assertAlmostEqual(float(slower), 0.2, delta=0.01)


if __name__ == "__main__":
    clickhouse.skip_without_server()
    unittest.main(verbosity=2)
