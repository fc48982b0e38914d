#!/usr/bin/env bash
# The functions of the C interface that a program of an earlier version was linked with are still there. A name is added to
# tests/data/abi/libkymo.txt when it is new, and never removed.
set -euo pipefail
fail() { echo "abi_test: $*" >&2; exit 1; }
list=$KYMO_SOURCE_DIR/tests/data/abi/libkymo.txt
now=$(nm -D --defined-only "$KYMO_BINARY_DIR/lib/libkymo.so" | awk '{print $3}' | grep -v '^_' | LC_ALL=C sort)
[[ $(wc -l <<<"$now") -gt 40 ]] || fail "nm finds only: $now"
gone=$(LC_ALL=C comm -23 "$list" - <<<"$now")
[[ -z $gone ]] || fail "gone: $gone"
new=$(LC_ALL=C comm -13 "$list" - <<<"$now")
[[ -z $new ]] || fail "new, add it to $list: $new"
# Each that the header declares is one of them.
declared=$(grep -ohP '^KYMO_API .*\bkymo_[a-z_]+(?=\()' "$KYMO_SOURCE_DIR/include/kymo/kymo.h" | grep -oP 'kymo_[a-z_]+$' | sort -u)
[[ $(wc -l <<<"$declared") -gt 10 ]] || fail "kymo.h declares only: $declared"
for name in $declared; do grep -qx "$name" "$list" || fail "$name is in kymo.h and not in libkymo.so"; done
