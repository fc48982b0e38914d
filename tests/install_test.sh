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
for file in bin/kymo bin/kymod libexec/kymo/kymo-view libexec/kymo/kymo-import lib/systemd/system/kymod.service lib/systemd/user/kymod.service \
  include/kymo/annotate.h include/kymo/session.h include/kymo/device.h include/kymo/edge.h \
  include/kymo/ondemand.h include/kymo/translate.h lib/libkymo.so lib/libkymo.a lib/libkymo_shader.so lib/libkymo_shader.a \
  lib/libkymo_device.so lib/libkymo_device.a lib/libkymo_edge.so \
  lib/libkymo_edge.a lib/libkymo_ondemand.so lib/libkymo_ondemand.a; do
  [[ -e $prefix/$file ]] || fail "$file is not installed"
done
if [[ -e $KYMO_BINARY_DIR/lib/libkymo_lttng.so && ! -e $prefix/lib/libkymo_lttng.so ]]; then
  fail "the module for LTTng is not installed"
fi
for kind in system user; do
  grep -q "^ExecStart=$work/first/bin/kymod" "$prefix/lib/systemd/$kind/kymod.service" ||
    fail "the $kind service does not start the installed kymod"
done
if grep -rq -e "$KYMO_SOURCE_DIR" -e "$work/first" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"; then
  fail "the package names folders of this machine"
fi

# What the library shows is what its headers mark: nothing of the components inside.
inside='base|client|trace|sink|collect|convert|symbols|counters|memory|wire|record|device::(opencl|vulkan|cuda|random|embedded)'
# But for what one component needs of another, marked in the components' own headers.
between='record::(forbid_recording_on_this_thread|watch_ranges|push_unheard|(begin|end)(_site)?_on_stack)|collect::(start_session|close_session|flush_session|drop_unfinished_session|follow_forks'
between+='|dump_session|begin_flight_copy|end_flight_copy|session_taken|recorded_from_outside|options_from_environment|state_window)'
for library in libkymo.so libkymo_shader.so libkymo_device.so libkymo_edge.so libkymo_ondemand.so; do
  if nm -DC --defined-only "$prefix/lib/$library" |
    grep -E " kymo::($inside)::" | grep -vE " kymo::($between)\("; then
    fail "$library exports what is inside it"
  fi
done

# fmt inside the archives has names of Kymo's: a program may bring another version of it.
for library in libkymo.a libkymo_shader.a libkymo_device.a libkymo_edge.a libkymo_ondemand.a; do
  if nm -C --defined-only "$prefix/lib/$library" 2>/dev/null | grep -E ' fmt::' | grep -v 'fmt::for_kymo::'; then
    fail "$library could clash with a program's own fmt"
  fi
done

# simdjson and SQLite are shared libraries, and a program may bring other versions of them: only the commands use them.
for library in "$prefix"/lib/libkymo*.so "$prefix"/lib/libkymo*.a; do
  if { readelf -d "$library"; nm -C "$library"; } 2>/dev/null | grep -E 'simdjson|sqlite3'; then
    fail "$library could clash with a program's own simdjson or SQLite"
  fi
done

# One that stands on another holds nothing of it a second time.
if nm -DC --defined-only "$prefix/lib/libkymo_ondemand.so" | grep -E '^[0-9a-f]+ [A-Za-z] (kymo::Session|kymo_begin|std::)'; then
  fail "libkymo_ondemand.so exports what is not its own"
fi

if nm -DC --defined-only "$prefix/lib/libkymo_device.so" | grep -E ' kymo::shader::'; then
  fail "libkymo_device.so has a second translator"
fi

mkdir -m 700 "$work/run"
socket=$work/run/kymod.sock
"$prefix/bin/kymod" --quiet --socket "$socket" &
daemon=$!
trap 'kill $daemon; rm -rf "$work"' EXIT

run_on_demand() {  # program, trace: it runs, is found, and is asked for it
  KYMO_DAEMON=$socket LD_LIBRARY_PATH=$prefix/lib "$1" "$2" &
  local pid=$! tries
  for ((tries = 0; tries < 600; ++tries)); do
    if "$prefix/bin/kymo" ps --socket "$socket" --pid $pid >"$work/ps" 2>&1; then break; fi
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  "$prefix/bin/kymo" trigger --socket "$socket" --pid $pid --iterations 20 -o "$work/asked-{pid}.kymo" \
    >"$work/trigger" 2>&1 || { cat "$work/ps" "$work/trigger"; fail "$1 cannot be asked for a trace"; }
  mv "$work/asked-$pid.kymo" "$2"
  wait $pid
}

check() {  # program, whether it needs libkymo.so
  local trace=$work/trace.kymo needs=no
  rm -f "$trace"
  if readelf -d "$1" | grep 'NEEDED.*libkymo' >/dev/null; then needs=yes; fi
  [[ $needs == "$2" ]] || fail "$1: needs libkymo.so: $needs, not $2"
  case $1 in
    */*ondemand_*) run_on_demand "$1" "$trace" ;;
    */annotated_*) LD_LIBRARY_PATH=$prefix/lib KYMO_TRACE=$trace "$1" ;;
    *) LD_LIBRARY_PATH=$prefix/lib "$1" "$trace" ;;
  esac || fail "$1 failed with status $?"
  [[ -s $trace ]] || fail "$1 left no trace"
  "$prefix/bin/kymo" stats "$trace" >"$work/stats" || fail "kymo stats cannot read what $1 recorded"
  grep -q work "$work/stats" || { cat "$work/stats"; fail "the range is not in what $1 recorded"; }
}

"$prefix/bin/kymo" env | grep "^export NVTX_INJECTION64_PATH='$prefix/.*/libkymo_inject.so'$" >/dev/null ||
  fail "the installed kymo does not find libkymo_inject.so: $("$prefix/bin/kymo" env 2>&1)"

manifest=$(find "$prefix" -name kymo_layer.json)  # none, if Kymo was built without Vulkan
[[ -z $manifest || -e ${manifest%/*}/../../libkymo_inject.so ]] || fail "$manifest does not name the installed library"
[[ -z $manifest ]] || "$prefix/bin/kymo" env | grep "^export VK_ADD_LAYER_PATH='.*${manifest%/*}'$" >/dev/null ||
  fail "the installed kymo does not find $manifest: $("$prefix/bin/kymo" env 2>&1)"

log=$work/log
configure=("$CMAKE" -S "$consumer/find_package" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
  -DCMAKE_CXX_COMPILER="$CXX")
{ "${configure[@]}" -B "$work/found" && "$CMAKE" --build "$work/found"; } >"$log" 2>&1 || { cat "$log"; fail "find_package"; }
check "$work/found/consumer_all" yes
check "$work/found/edge_shared" yes
check "$work/found/edge_static" no
check "$work/found/ondemand_shared" yes
for program in ondemand_static ondemand_edge_static edge_ondemand_static; do
  check "$work/found/$program" no
done
for program in consumer annotated; do
  check "$work/found/${program}_shared" yes
  check "$work/found/${program}_static" no
done

# Without LD_LIBRARY_PATH: a library in a folder of its own finds those that it needs.
for program in device_shared device_static; do
  env -u LD_LIBRARY_PATH KYMO_CACHE_DIR= KYMO_PROFILE_LOG=copy-statistics "$work/found/$program" 2>"$work/tables" ||
    fail "$program failed with status $?"
  grep -qi copies "$work/tables" || { cat "$work/tables"; fail "$program does not heed KYMO_PROFILE_LOG"; }
done

check_translator() {  # program, the libraries of Kymo that it needs
  local needs
  needs=$(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(libkymo[a-z_]*\)\.so.*/\1/p' | xargs)
  [[ $needs == "$2" ]] || fail "$1: needs \"$needs\", not \"$2\""
  LD_LIBRARY_PATH=$prefix/lib "$1" >"$log" || { cat "$log"; fail "$1 failed with status $?"; }
}
if readelf -d "$prefix/lib/libkymo_shader.so" | grep 'NEEDED.*libkymo'; then
  fail "libkymo_shader.so needs another library of Kymo"
fi
check_translator "$work/found/shader_shared" libkymo_shader
check_translator "$work/found/shader_static" ""

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
check_translator "$work/pkg_config/shader_shared" libkymo_shader
check_translator "$work/pkg_config/shader_static" ""
check "$work/pkg_config/edge_shared" yes
check "$work/pkg_config/ondemand_shared" yes
check "$work/pkg_config/ondemand_static" no
LD_LIBRARY_PATH=$prefix/lib KYMO_CACHE_DIR= "$work/pkg_config/device_shared" || fail "device_shared failed with status $?"
echo "install_test: twenty-five programs built and ran against the installed tree"
