"""A tree of Kymo that needs nothing but the C library: what it links lies beside it.

    bin/ libexec/kymo/       programs
    lib/                     libkymo*.so, which other programs load
    lib/kymo/                shared libraries of other projects, libduckdb.so, and what an older C library lacks
    lib/kymo/programs/       the C++ library, for our programs alone: another process has its own, perhaps a newer one
    share/doc/kymo/licenses/ the licences of what is in lib/kymo
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess

OLDEST = (2, 34)  # the C library of RHEL 9; Ubuntu 22.04 has the next one
OLDER_C = {"_dl_find_object", "arc4random"}  # in libkymo_c.so
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv))\.so\.\d+$")  # glibc's: they belong to the machine
CXX = re.compile(r"lib(stdc\+\+|gcc_s)\.so\.\d+$")


class Missing(Exception):
    """Something that this machine does not have; the text says what to do."""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def output(*command):
    return run(*command, stdout=subprocess.PIPE, encoding="utf-8").stdout


def version(source):
    """The one place that has it is CMakeLists.txt."""
    return re.search(r"^project\(kymo VERSION (\S+)", (source / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files(folder):
    return sorted(path for path in folder.rglob("*") if is_elf(path) and path.suffix not in (".a", ".o"))


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path))


def loaded_name(path):
    """The name by which a library is loaded: its soname, otherwise the file's."""
    found = re.search(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", path))
    return found[1] if found else path.name


def glibc_needs(path):
    """Each version that a file asks other files for: of the C library as (2, 35), otherwise (). With the place of its entry
    (Elf64_Vernaux), and of the list's head (Elf64_Verneed)."""
    text = output("readelf", "-V", path)
    section = re.search(r"'\.gnu\.version_r'.*\n.*Offset: (0x[0-9a-f]+)", text)
    for head, entries in re.findall(r"^ +(\w+): Version: 1  File: .*\n((?:.*  Name: .*\n?)*)", text, re.MULTILINE):
        start = int(section[1], 16)
        for place, name in re.findall(r"(\w+): +Name: (\S+)", entries):
            version = re.findall(r"\d+", name) if re.fullmatch(r"GLIBC_[\d.]+", name) else []
            yield tuple(map(int, version)), start + int(place, 16), start + int(head, 16)


def glibc_version(folder):
    """The latest version of the C library that anything in the folder asks for, such as (2, 34)."""
    return max(version for path in elf_files(folder) for version, *_ in glibc_needs(path))


def allow_older_c(path):
    """Lets an older C library load a file that asks it for nothing newer than 2.34 but what libkymo_c.so has, or weakly."""
    newer = {"GLIBC_" + ".".join(map(str, version)) for version, *_ in glibc_needs(path) if version > OLDEST}
    if not newer:
        return
    symbols = re.findall(r" (\w) (\w+)@(GLIBC_\S+)$", output("nm", "-D", "--undefined-only", path), re.MULTILINE)
    kinds = {name: kind for kind, name, version in symbols if version in newer}
    strong = {name for name, kind in kinds.items() if kind == "U"}
    if not strong <= OLDER_C:
        return
    changes = [word for name in sorted(kinds) for word in ("--clear-symbol-version", name)]
    run("patchelf", *changes, path)
    if strong:
        run("patchelf", "--add-needed", "libkymo_c.so", path)
    # No symbol has these versions now: their entries leave the list.
    content = bytearray(path.read_bytes())
    entries = list(glibc_needs(path))
    head = next(head for version, _, head in entries if version > OLDEST)
    kept = [place for version, place, its_head in entries if its_head == head and version <= OLDEST]
    struct.pack_into("=H", content, head + 2, len(kept))
    struct.pack_into("=I", content, head + 8, kept[0] - head)
    for place, following in zip(kept, kept[1:] + [None]):
        struct.pack_into("=I", content, place + 12, following - place if following else 0)
    path.write_bytes(content)


def system_libraries():
    """The files of this machine's shared libraries by name, for the machine's own kind of processor."""
    files = {}
    for name, kind, path in re.findall(r"^\s+(\S+) \((.*?)\) => (\S+)$", output("/sbin/ldconfig", "-p"), re.MULTILINE):
        if "libc6" in kind and ("64" in kind or os.uname().machine not in ("x86_64", "aarch64")):
            files.setdefault(name, pathlib.Path(path))
    return files


def copy_licence(library, folder):
    """The copyright file of the package that a library of this machine is from."""
    for path in (library, library.resolve()):
        for spelling in (str(path), "/usr" + str(path), str(path).removeprefix("/usr")):
            owner = subprocess.run(["dpkg", "-S", spelling], capture_output=True, encoding="utf-8")
            if owner.returncode == 0:
                package = owner.stdout.split(":")[0]
                text = pathlib.Path("/usr/share/doc", package, "copyright")
                if text.is_file():
                    shutil.copyfile(text, folder / package)
                    return
    raise Missing(f"no licence of {library} is installed, and a copy must come with one")


def add_libraries(tree):
    """Copies what the tree links. Our files look for it there already; a copy looks beside itself."""
    lib, others, cxx = tree / "lib", tree / "lib/kymo", tree / "lib/kymo/programs"
    licences = tree / "share/doc/kymo/licenses"
    for folder in (cxx, licences):
        folder.mkdir(parents=True, exist_ok=True)
    available = system_libraries()
    own = {path.name for path in lib.glob("*.so*")}
    waiting, copied = elf_files(tree), {}
    while waiting:
        for name in needed(waiting.pop()):
            if SYSTEM.match(name) or name in own or name in copied:
                continue
            if name not in available:
                raise Missing(f"{name} is not installed, but Kymo is linked with it")
            copied[name] = shutil.copyfile(available[name].resolve(), (cxx if CXX.match(name) else others) / name)
            copied[name].chmod(0o755)
            copy_licence(available[name], licences)
            waiting.append(copied[name])
    for path in copied.values():
        run("patchelf", "--set-rpath", "$ORIGIN:$ORIGIN/.." if path.parent == cxx else "$ORIGIN", path)


def add_older_c(tree, source):
    """What lets the tree run where the C library is older than that of the machine that built it."""
    library = tree / "lib/kymo/libkymo_c.so"
    sources = [source / "packaging/portable/older_c.c", source / "src/core/unwind/find_object.c"]
    run("cc", "-O2", "-fPIC", "-shared", "-DKYMO_OLDER_C", "-Wl,-soname,libkymo_c.so", *sources, "-o", library)
    for path in elf_files(tree):
        allow_older_c(path)


def add_duckdb(tree, source):
    """DuckDB's library, which `kymo query` loads."""
    script = source / "scripts/install-duckdb"
    run(script, stdout=subprocess.DEVNULL)
    version = re.search(r"^version=(.*)$", script.read_text(), re.MULTILINE)[1]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / f"kymo/duckdb-{version}"
    shutil.copyfile(folder / "libduckdb.so", tree / "lib/kymo/libduckdb.so")
    (tree / "lib/kymo/libduckdb.so").chmod(0o755)
    shutil.copyfile(folder / "LICENSE", tree / "share/doc/kymo/licenses/duckdb")


def build(source, quiet=True):
    """Builds what is shipped, and returns the build folder."""
    pipe = subprocess.DEVNULL if quiet else None
    run("cmake", "--preset", "package", cwd=source, stdout=pipe)
    run("cmake", "--build", "--preset", "package", cwd=source, stdout=pipe)
    return source / "build/package"


def install(built, tree):
    """Makes the tree of what was built in this folder. Raises Missing if this machine lacks something."""
    for tool in ("cc", "nm", "patchelf", "readelf"):
        if shutil.which(tool) is None:
            raise Missing(f"{tool} is not installed: scripts/install-deps build package")
    source = pathlib.Path(__file__).resolve().parents[2]
    shutil.rmtree(tree, ignore_errors=True)
    run("cmake", "--install", built, "--strip", "--prefix", tree, stdout=subprocess.DEVNULL)
    for path in (tree / "lib").glob("libkymo_torch*"):  # it belongs to one version of libtorch
        path.unlink()
    shutil.rmtree(tree / "lib/systemd")  # units name the folder of their program, which may be any
    add_libraries(tree)
    add_older_c(tree, source)
    add_duckdb(tree, source)
