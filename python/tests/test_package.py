"""The package loads, and its errors are those of Python too."""
import ast
import builtins
import importlib
import pathlib
import unittest

import kymo


def public_names(path):
    """The functions and classes that a file defines, and the public members of its classes."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            for member in node.body:
                if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    found.add(f"{node.name}.{member.name}")
                elif isinstance(member, ast.AnnAssign):
                    found.add(f"{node.name}.{member.target.id}")
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return {name for name in found if not any(part.startswith("_") for part in name.split("."))}


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

    def test_every_public_name_has_a_signature(self):
        root = pathlib.Path(kymo.__file__).parent
        for path in sorted(root.rglob("*.py")):
            if path.stem.startswith("_") and path.stem not in ("__init__", "_host_array") or path.parent.name == "startup":
                continue
            with self.subTest(path.name):
                stub = path.with_suffix(".pyi")
                self.assertTrue(stub.exists(), stub)
                tree = ast.parse(path.read_text(encoding="utf-8"))
                defined = {name for name in public_names(path) if name.split(".")[0] in {
                    node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}}
                self.assertEqual(defined - public_names(stub), set())

    def test_every_name_of_all_has_a_signature(self):
        for module in (kymo, kymo.mps, kymo.nvtx, kymo.ondemand, kymo.profiler):
            stub = pathlib.Path(module.__file__).with_suffix(".pyi")
            with self.subTest(module.__name__):
                self.assertEqual(set(module.__all__) - public_names(stub), set())

    def test_every_public_function_has_a_docstring(self):
        for module in (kymo, kymo.mps, kymo.mps.profiler, kymo.nvtx, kymo.ondemand, kymo.profiler):
            for name in module.__all__:
                value = getattr(module, name)
                members = vars(value).items() if isinstance(value, type) else ()
                for key, one in ((name, value), *((f"{name}.{key}", one) for key, one in members if key[0] != "_")):
                    self.assertTrue(not callable(one) or (one.__doc__ or "").strip(), f"{module.__name__}: {key}")

    def test_a_star_import_keeps_the_names_of_python(self):
        for module in ("kymo", "kymo.mps", "kymo.profiler", "kymo.ondemand"):
            names = {}
            exec(f"from {module} import *", names)
            self.assertEqual({name for name in names if hasattr(builtins, name)} - {"__build_class__", "__doc__"}, set())
        self.assertIn("open", dir(kymo))

    def test_kymo_device_is_kymo_mps(self):
        profiler = importlib.import_module("kymo.device.profiler")
        self.assertIs(profiler, importlib.import_module("kymo.mps.profiler"))
        self.assertIs(kymo.device.profiler, profiler)
        self.assertIs(kymo.device, kymo.mps)

    def test_text_that_utf8_cannot_express_is_escaped(self):
        self.assertEqual(kymo.nvtx.range_push("a\ud800b"), 0)
        self.assertEqual(kymo.nvtx.range_pop(), 0)

    def test_a_wrong_type_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "range_push: msg must be str, not int"):
            kymo.nvtx.range_push(1)


if __name__ == "__main__":
    unittest.main()
