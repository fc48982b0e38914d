"""kymo.nvtx.Domain: attributes of one domain in another one, and arguments that are not attributes."""
import collections
import os
import tempfile
import threading
import unittest

import kymo
from kymo import nvtx


class DomainOfAttributesTest(unittest.TestCase):
    def test_attributes_of_another_domain(self):
        first, second = nvtx.Domain("first"), nvtx.Domain("second")
        attributes = first.get_event_attributes("work", color="red", payload=3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "domains.kymo")
            with kymo.Session(path):
                second.push_range(attributes)
                first.pop_range()  # another stack: nothing is open on it
                second.pop_range()
                second.end_range(second.start_range(attributes))
                second.mark(attributes)
                first.push_range(attributes)
                first.pop_range()
                attributes.message = "changed"
                second.push_range(attributes)
                second.pop_range()
            trace = kymo.open(path)
            found = collections.Counter()
            for row in trace.stats():
                found[row["name"], row["category"]] += row["count"]
        self.assertEqual(found, {("work", "second"): 2, ("work", "first"): 1, ("changed", "second"): 1})

    def test_attributes_must_be_attributes(self):
        domain = nvtx.get_domain("first")
        for call in (domain.push_range, domain.start_range, domain.mark):
            for wrong in ("work", None, 3):
                with self.assertRaisesRegex(TypeError, rf"Domain\.{call.__name__}: attributes must be EventAttributes, "
                                                       rf"not {type(wrong).__name__}; domain\.get_event_attributes"):
                    call(wrong)

    def test_names_with_a_zero(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "zero.kymo")
            with kymo.Session(path):
                def work():
                    kymo.set_thread_name("th\0read")
                    nvtx.range_push("x")
                    nvtx.range_pop()
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            self.assertIn("th\ufffdread", [row["name"] for row in kymo.open(path).tracks])


if __name__ == "__main__":
    unittest.main()
