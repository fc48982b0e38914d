"""The package loads, and its errors are those of Python too."""
import unittest

import kymo


class PackageTest(unittest.TestCase):
    def test_modules_load_on_first_use(self):
        self.assertEqual(kymo.nvtx.range_push("outer"), 0)
        self.assertEqual(kymo.nvtx.range_push("inner"), 1)
        self.assertEqual(kymo.nvtx.range_pop(), 1)
        self.assertEqual(kymo.nvtx.range_pop(), 0)
        self.assertEqual(kymo.nvtx.range_pop(), -1)

    def test_an_unknown_name_is_an_attribute_error(self):
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            kymo.nothing

    def test_errors_are_those_of_python(self):
        self.assertTrue(issubclass(kymo.Error, RuntimeError))
        self.assertTrue(issubclass(kymo.InvalidArgument, ValueError))
        self.assertTrue(issubclass(kymo.CompileError, SyntaxError))
        self.assertTrue(issubclass(kymo.OutOfMemory, MemoryError))
        error = kymo.CompileError("line 3: no", "a.metal", 3, 7, "x")
        self.assertEqual((str(error), error.filename, error.lineno, error.offset, error.text),
                         ("line 3: no", "a.metal", 3, 7, "x"))

    def test_text_that_utf8_cannot_express_is_escaped(self):
        self.assertEqual(kymo.nvtx.range_push("a\ud800b"), 0)
        self.assertEqual(kymo.nvtx.range_pop(), 0)

    def test_a_wrong_type_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "range_push: msg must be str, not int"):
            kymo.nvtx.range_push(1)


if __name__ == "__main__":
    unittest.main()
