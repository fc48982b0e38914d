#!/usr/bin/env bash
# systemd accepts the units of packaging/, with the programs of this build in them.
set -euo pipefail

if ! command -v systemd-analyze >/dev/null; then
  echo "SKIPPED: systemd-analyze is not installed"
  exit 77
fi
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work  # for the units of users
trap 'rm -rf "$work"' EXIT
for unit in "$KYMO_SOURCE_DIR"/packaging/{system,user}/*.service.in; do
  kind=$(basename "$(dirname "$unit")")
  made=$work/$(basename "$unit" .in)
  sed "s#@KYMO_BINDIR@#$KYMO_BINARY_DIR/bin#g" "$unit" >"$made"
  if grep -q '@' <(grep -v '^SystemCallFilter=' "$made"); then
    echo "$unit has a place that nothing fills in"
    exit 1
  fi
  # Warnings count too: a misspelled setting is only a warning.
  said=$(systemd-analyze "--$kind" verify "$made" 2>&1) || { echo "$unit: $said"; exit 1; }
  if [[ $said == *"$(basename "$made")"* ]]; then
    echo "$unit: $said"
    exit 1
  fi
done
