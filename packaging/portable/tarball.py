#!/usr/bin/env python3
"""Makes build/kymo-VERSION-linux-MACHINE.tar.gz, which runs from any folder: packaging/portable/tarball.py [BUILT]

BUILT is the build folder of what goes in; otherwise it is built.
"""
import gzip
import os
import pathlib
import sys
import tarfile

import tree

# Where the C library is too old, the loader would say so for each library. A link is one from before glibc 2.34, or looks so.
STARTER = """#!/bin/sh
for libc in /lib/libc.so.6 /lib/*/libc.so.6 /lib64/libc.so.6; do
  [ -L "$libc" ] || continue
  version=$(getconf GNU_LIBC_VERSION) && minor=${{version#glibc 2.}} && [ "${{minor%%.*}}" -lt {minor} ] || continue
  echo "${{0##*/}}: Kymo needs glibc 2.{minor} or later, and this machine has $version" >&2
  exit 1
done
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
exec "${{self%/*}}/../programs/${{self##*/}}" "$@"
"""

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def owned_by_nobody(entry):
    """Two runs give the same bytes: no owner, and the time of the source."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", 0))
    return entry


def add_starters(folder):
    """bin/ has what starts the programs in programs/, which find their files as if they were in bin/."""
    (folder / "bin").rename(folder / "programs")
    (folder / "bin").mkdir()
    for program in (folder / "programs").iterdir():
        starter = folder / "bin" / program.name
        starter.write_text(STARTER.format(minor=tree.glibc_version(folder)[1]))
        starter.chmod(0o755)


def main(arguments):
    try:
        built = pathlib.Path(arguments[0]).resolve() if arguments else tree.build(SOURCE)
        name = f"kymo-{tree.version(SOURCE)}-linux-{os.uname().machine}"
        folder = built / "portable" / name
        tree.install(built, folder)
        add_starters(folder)
    except tree.Missing as problem:
        sys.exit(f"tarball: {problem}")
    file = pathlib.Path(os.environ.get("KYMO_PACKAGE_FOLDER", SOURCE / "build")) / f"{name}.tar.gz"
    with gzip.GzipFile(file, "wb", compresslevel=6, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, name, filter=owned_by_nobody)
    print(f"{file}: needs glibc {'.'.join(map(str, tree.glibc_version(folder)))} or later")


if __name__ == "__main__":
    main(sys.argv[1:])
