#!/usr/bin/env python3
"""Makes a wheel: what `pip install .` and `make wheel` call (PEP 517). It needs no package of PyPI.

    packaging/portable/wheel.py [BUILT [FOLDER]]     of what is in the build folder BUILT, into FOLDER

The wheel has the Python package, the commands and the libraries, and installs into any environment without a compiler:

    kymo/                        the package and its modules, for CPython 3.11 and every later one
    kymo-VERSION.data/scripts/   bin/: kymo, kymod
    kymo-VERSION.data/data/      lib/, libexec/: the same tree as in the tarball
"""
import base64
import hashlib
import os
import pathlib
import sys
import tempfile
import zipfile

import tree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path("lib/python3/dist-packages")  # where `cmake --install` puts the package
TAG = "cp311-abi3"


def metadata():
    return f"""Metadata-Version: 2.1
Name: kymo
Version: {tree.version(SOURCE)}
Summary: A profiler for programs and their accelerators
License: Apache-2.0
Platform: Linux
Requires-Python: >=3.11
Provides-Extra: arrays
Requires-Dist: numpy; extra == "arrays"
Description-Content-Type: text/markdown

{(SOURCE / "README.md").read_text()}"""


class Wheel:
    """A zip file whose last entry lists the hashes of the others. Two runs give the same bytes."""

    def __init__(self, path, name):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info = f"{name}.dist-info"
        self.data = f"{name}.data"
        self.record = []

    def add(self, name, content, executable=False):
        entry = zipfile.ZipInfo(name)  # of 1980
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def add_file(self, name, path):
        self.add(name, path.read_bytes(), os.access(path, os.X_OK) and path.suffix != ".py")

    def close(self):
        self.record.append(f"{self.info}/RECORD,,")
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD"), "\n".join(self.record) + "\n")
        self.zip.close()


def run_time_files(root):
    """The files that Kymo needs when it runs, with their places below the prefix. A wheel has no links, so that a library
    has the name by which it is loaded."""
    for path in tree.elf_files(root / "lib"):
        if PACKAGES not in path.relative_to(root).parents:
            yield path, path.with_name(tree.loaded_name(path)).relative_to(root)
    for path in [*root.glob("libexec/**/*"), *root.glob("lib/kymo/**/*.json")]:
        if path.is_file():
            yield path, path.relative_to(root)


def write(built, folder):
    """Writes the wheel of what was built into the folder, and returns its name."""
    name = f"kymo-{tree.version(SOURCE)}"
    with tempfile.TemporaryDirectory() as work:
        root = pathlib.Path(work, "root")
        tree.install(built, root)
        platform = "manylinux_{}_{}_{}".format(*tree.glibc_version(root), os.uname().machine)
        file = f"{name}-{TAG}-{platform}.whl"
        wheel = Wheel(pathlib.Path(folder, file), name)
        for path in sorted((root / PACKAGES / "kymo").rglob("*")):
            if path.is_file():
                wheel.add_file(str(path.relative_to(root / PACKAGES)), path)
        for path in sorted((root / "bin").iterdir()):
            wheel.add_file(f"{wheel.data}/scripts/{path.name}", path)
        for path, place in sorted(run_time_files(root)):
            wheel.add_file(f"{wheel.data}/data/{place}", path)
        for path in sorted((root / "share/doc/kymo").rglob("*")):
            if path.is_file():
                wheel.add_file(f"{wheel.info}/licenses/{path.relative_to(root / 'share/doc/kymo')}", path)
        wheel.add(f"{wheel.info}/METADATA", metadata().encode())
        tags = f"Wheel-Version: 1.0\nGenerator: kymo\nRoot-Is-Purelib: false\nTag: {TAG}-{platform}\n"
        wheel.add(f"{wheel.info}/WHEEL", tags.encode())
        wheel.close()
    return file


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517. pip --config-settings built=FOLDER takes what was built there."""
    built = (config_settings or {}).get("built")
    return write(pathlib.Path(built).resolve() if built else tree.build(SOURCE), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise tree.Missing("Kymo's sources are its repository: pip install . in a checkout")


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else SOURCE / "build"
    try:
        print(target / build_wheel(target, {"built": sys.argv[1]} if len(sys.argv) > 1 else None))
    except tree.Missing as problem:
        sys.exit(f"wheel: {problem}")
