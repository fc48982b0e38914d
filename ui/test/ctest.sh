#!/usr/bin/env bash
# Tests of the page of `kymo view` (ui/), with node; the last ones in chromium. Skipped where node or ui/node_modules is
# missing; tests in the browser also where chromium is missing.
#
#   ctest.sh dist       ui/dist is what the sources build
#   ctest.sh unit       tests without a browser
#   ctest.sh browser    the page in chromium, with a stand-in for the server
#   ctest.sh command    the page in chromium, with `kymo view`
set -uo pipefail
ui=$(dirname "$0")/..
part=${1:-}

skip() {
  echo "SKIPPED: $*"
  exit 77
}

command -v node >/dev/null || skip "node is not installed: scripts/install-deps test"
[[ -d $ui/node_modules ]] || skip "ui/node_modules is missing: scripts/install-deps test"
if [[ $part == browser || $part == command ]]; then
  [[ -x ${KYMO_CHROMIUM:-/usr/bin/chromium} ]] || skip "chromium is not installed: scripts/install-deps test"
fi
if [[ $part == command ]]; then
  "${KYMO_BINARY_DIR:?}/bin/kymo" view --help >/dev/null 2>&1 || skip "this kymo has no view command"
fi

cd "$ui" || exit 1
case $part in
  dist) node build.mjs --check ;;
  unit | browser | command) node test/run.mjs "$part" ;;
  *) echo "ctest.sh: unknown part \"$part\"; parts: dist, unit, browser, command" >&2; exit 2 ;;
esac
