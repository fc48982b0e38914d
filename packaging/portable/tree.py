"""A tree of Kymo that needs nothing but the C library: what it links lies beside it.

    bin/ libexec/kymo/       programs
    lib/                     libkymo*.so, which other programs load
    lib/kymo/                shared libraries of other projects, and libduckdb.so
    lib/kymo/programs/       the C++ library, for our programs alone: another process has its own, perhaps a newer one
    share/doc/kymo/licenses/ the licences of what is in lib/kymo
"""
import os
import pathlib
import re
import shutil
import subprocess

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


def glibc_version(folder):
    """The latest version of the C library that anything in the folder asks for, such as (2, 35)."""
    found = [(0, 0)]
    for path in elf_files(folder):
        found += [(int(a), int(b)) for a, b in re.findall(r"\bGLIBC_(\d+)\.(\d+)", output("readelf", "-V", path))]
    return max(found)


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
        run("patchelf", "--set-rpath", "$ORIGIN", path)


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
    for tool in ("patchelf", "readelf"):
        if shutil.which(tool) is None:
            raise Missing(f"{tool} is not installed: scripts/install-deps build package")
    source = pathlib.Path(__file__).resolve().parents[2]
    shutil.rmtree(tree, ignore_errors=True)
    run("cmake", "--install", built, "--strip", "--prefix", tree, stdout=subprocess.DEVNULL)
    for path in (tree / "lib").glob("libkymo_torch*"):  # it belongs to one version of libtorch
        path.unlink()
    add_libraries(tree)
    add_duckdb(tree, source)
