#!/usr/bin/env bash
# The Debian package: what is in it works from where it is unpacked, and it names what it needs.
set -euo pipefail
fail() { echo "package_test: $*" >&2; exit 1; }
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "package_test: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$KYMO_BINARY_DIR" && cpack -B "$work" -D CPACK_OUTPUT_FILE_PREFIX="$work") >"$work/log" 2>&1 || fail "$(cat "$work/log")"
package=$(ls "$work"/kymo_*.deb)
depends=$(dpkg-deb -f "$package" Depends)
[[ $depends == *libc6* && $depends == *libzstd1* && $depends == *libsimdjson* ]] || fail "it depends on \"$depends\""
dpkg-deb -x "$package" "$work/root"
for file in bin/kymo bin/kymod libexec/kymo/kymo-view libexec/kymo/kymo-import lib/libkymo.so lib/libkymo_shader.so lib/libkymo_malloc.so lib/libkymo_inject.so lib/libkymo_sample.so include/kymo/annotate.h \
  include/kymo/translate.h share/man/man1/kymo.1.gz share/man/man1/kymo-record.1.gz \
  share/bash-completion/completions/kymo lib/cmake/kymo/kymoConfig.cmake; do
  [[ -e $work/root/usr/$file || -e $work/root/usr/${file%.gz} ]] || fail "$file is not in it"
done
"$work/root/usr/bin/kymo" --version | grep '^kymo ' >/dev/null || fail "kymo does not start"
export LD_LIBRARY_PATH=$work/root/usr/lib
"$work/root/usr/bin/kymo" record --memory -o "$work/a.kymo" -- /bin/true >"$work/log" 2>&1 || fail "$(cat "$work/log")"
"$work/root/usr/bin/kymo" memory "$work/a.kymo" >"$work/log" 2>&1 || fail "$(cat "$work/log")"

# The tarball and the wheel: they run from any folder, and find nothing but the C library outside of it.
command -v patchelf >/dev/null || { echo "package_test: patchelf is not installed, so only the .deb was tried"; exit 77; }
"$KYMO_SOURCE_DIR/scripts/install-duckdb" --check >/dev/null || { echo "package_test: DuckDB is not installed, so only the .deb was tried"; exit 77; }
unset LD_LIBRARY_PATH
python() { python3 -B "$@"; }
KYMO_PACKAGE_FOLDER=$work python "$KYMO_SOURCE_DIR/packaging/portable/tarball.py" "$KYMO_BINARY_DIR" >"$work/log" || fail "$(cat "$work/log")"
grep -Eq 'needs glibc 2\.[0-9]+ or later' "$work/log" || fail "the tarball: $(cat "$work/log")"
mkdir "$work/elsewhere"
tar -xzf "$work"/kymo-*.tar.gz -C "$work/elsewhere" --strip-components=1
for program in "$work"/elsewhere/bin/* "$work"/elsewhere/libexec/kymo/kymo-*; do
  ldd "$program" | grep '=> /' | grep -v "$work/elsewhere" | grep -vE ' => /(usr/)?lib[^ ]*/lib(c|m)\.so\.6 ' && fail "$program takes this from the machine"
done
"$work/elsewhere/bin/kymo" record -o "$work/b.kymo" -- /bin/ls >/dev/null 2>"$work/log" || fail "$(cat "$work/log")"
answer=$(env -u KYMO_DUCKDB_LIBRARY XDG_CACHE_HOME="$work" "$work/elsewhere/bin/kymo" query "$work/b.kymo" 'SELECT 41 + 1 AS x' --csv)
[[ $answer == $'x\n42' ]] || fail "query in the tarball says $answer"
[[ -s $work/elsewhere/share/doc/kymo/licenses/duckdb && -s $work/elsewhere/share/doc/kymo/NOTICE ]] || fail "no licences"

python "$KYMO_SOURCE_DIR/packaging/portable/wheel.py" "$KYMO_BINARY_DIR" "$work" >"$work/log" || fail "$(cat "$work/log")"
/usr/bin/python3 -m venv "$work/venv" >"$work/log" 2>&1 || { echo "package_test: python3-venv is not installed, so the wheel was not tried"; exit 77; }
"$work/venv/bin/pip" install -q --no-index "$work"/kymo-*.whl >"$work/log" 2>&1 || fail "$(cat "$work/log")"
(
  cd "$work"
  export PATH=$work/venv/bin:$PATH
  unset PYTHONPATH KYMO_COMMAND
  python3 -c 'import kymo
with kymo.Session("c.kymo"):
    with kymo.nvtx.range("work"): pass
assert "work" in kymo.open("c.kymo").names, kymo.open("c.kymo").names
print(kymo.__version__)' >"$work/log" 2>&1 || fail "$(cat "$work/log")"
  [[ "kymo $(cat "$work/log")" == "$(kymo --version)" ]] || fail "the versions differ: $(cat "$work/log"), $(kymo --version)"
  kymo stats c.kymo | grep -q work || fail "kymo stats does not show what Python recorded"
)
