#!/usr/bin/env bash
# Installs Kymo, moves what was installed, and builds and runs somebody's programs against it, in C++ and in C: by
# find_package and by pkg-config, with the shared library and the static one.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
consumer=$KYMO_SOURCE_DIR/tests/consumer
fail() {
  echo "install_test: $*" >&2
  exit 1
}

"$CMAKE" --install "$KYMO_BINARY_DIR" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/moved"
prefix=$work/moved
for file in bin/kymo include/kymo/annotate.h include/kymo/session.h include/kymo/device.h include/kymo/edge.h lib/libkymo.so \
  lib/libkymo.a lib/libkymo_device.so lib/libkymo_device.a lib/libkymo_edge.so lib/libkymo_edge.a; do
  [[ -e $prefix/$file ]] || fail "$file is not installed"
done
if [[ -e $KYMO_BINARY_DIR/lib/libkymo_lttng.so && ! -e $prefix/lib/libkymo_lttng.so ]]; then
  fail "the module for LTTng is not installed"
fi
if grep -rq -e "$KYMO_SOURCE_DIR" -e "$work/first" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"; then
  fail "the package names folders of this machine"
fi

# What the library shows is what its headers mark: nothing of the rooms behind them.
for library in libkymo.so libkymo_device.so libkymo_edge.so; do
  if nm -DC --defined-only "$prefix/lib/$library" |
    grep -E ' kymo::(base|trace|sink|collect|convert|stack|counters|memory|signpost|device::(opencl|vulkan|cuda|random|embedded))::'; then
    fail "$library exports what is inside it"
  fi
done

check() {  # program, whether it needs libkymo.so
  local trace=$work/trace.kymo needs=no
  rm -f "$trace"
  if readelf -d "$1" | grep -q 'NEEDED.*libkymo'; then needs=yes; fi
  [[ $needs == "$2" ]] || fail "$1: needs libkymo.so: $needs, not $2"
  case $1 in
    */annotated_*) LD_LIBRARY_PATH=$prefix/lib KYMO_TRACE=$trace "$1" ;;
    *) LD_LIBRARY_PATH=$prefix/lib "$1" "$trace" ;;
  esac || fail "$1 failed with status $?"
  [[ -s $trace ]] || fail "$1 left no trace"
  "$prefix/bin/kymo" stats "$trace" >"$work/stats" || fail "kymo stats cannot read what $1 recorded"
  grep -q work "$work/stats" || { cat "$work/stats"; fail "the range is not in what $1 recorded"; }
}

log=$work/log
configure=("$CMAKE" -S "$consumer/find_package" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
  -DCMAKE_CXX_COMPILER="$CXX")
{ "${configure[@]}" -B "$work/found" && "$CMAKE" --build "$work/found"; } >"$log" 2>&1 || { cat "$log"; fail "find_package"; }
check "$work/found/consumer_all" yes
check "$work/found/edge_shared" yes
check "$work/found/edge_static" no
for program in consumer annotated; do
  check "$work/found/${program}_shared" yes
  check "$work/found/${program}_static" no
done

for program in device_shared device_static; do
  LD_LIBRARY_PATH=$prefix/lib KYMO_CACHE_DIR= KYMO_PROFILE_LOG=copy-statistics "$work/found/$program" 2>"$work/tables" ||
    fail "$program failed with status $?"
  grep -qi copies "$work/tables" || { cat "$work/tables"; fail "$program does not heed KYMO_PROFILE_LOG"; }
done

if "${configure[@]}" -B "$work/unknown" -DCOMPONENT=nonsense >"$log" 2>&1; then
  fail "find_package found a component that is not there"
fi
grep -q 'has no component "nonsense"' "$log" || { cat "$log"; fail "the message does not name the component"; }

mkdir "$work/pkg_config"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig make -C "$consumer/pkg_config" CC="$CC" CXX="$CXX" OUT="$work/pkg_config" \
  >"$log" 2>&1 || { cat "$log"; fail "pkg-config"; }
for program in consumer annotated; do
  check "$work/pkg_config/${program}_shared" yes
  check "$work/pkg_config/${program}_static" no
done
check "$work/pkg_config/edge_shared" yes
LD_LIBRARY_PATH=$prefix/lib KYMO_CACHE_DIR= "$work/pkg_config/device_shared" || fail "device_shared failed with status $?"
echo "install_test: fifteen programs built and ran against the installed tree"
