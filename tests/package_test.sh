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
