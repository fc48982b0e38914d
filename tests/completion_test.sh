#!/usr/bin/env bash
# Completion scripts do what they say in the shells that are installed, and manual pages are well-formed.
set -euo pipefail
kymo=$KYMO_BINARY_DIR/bin/kymo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "completion_test: $*" >&2; exit 1; }

"$kymo" completion bash >"$work/kymo.bash"
"$kymo" completion zsh >"$work/_kymo"
"$kymo" completion fish >"$work/kymo.fish"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"
touch one.kymo

# Each prints what a shell completes at the end of a line, sorted, in one line.
source kymo.bash
in_bash() {
  # bash splits a line at spaces, and makes words of "=" and ":".
  local line=${1//=/ = }
  read -ra COMP_WORDS <<<"$line"
  [[ $line == *' ' && $line != *'= ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _kymo
  printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' ' -
}
in_zsh() { zsh -f "$here/zsh_complete.zsh" "$work" "$1" | sort | paste -sd ' ' -; }
in_fish() {
  HOME=$work XDG_CONFIG_HOME=$work fish -c "source kymo.fish; complete -C '$1'" | cut -f 1 | sed 's/^--[a-z-]*=//' |
    sort | paste -sd ' ' -
}

shells="bash"
for shell in zsh fish; do
  if command -v $shell >/dev/null; then
    shells+=" $shell"
  else
    echo "completion_test: $shell is not installed, its script is not tested"
  fi
done
check() {  # the line, and what is completed in each shell
  for shell in $shells; do
    said=$("in_$shell" "$1")
    [[ $said == "$2" ]] || fail "$shell: '$1' gives '$said', not '$2'"
  done
}
said=$("$kymo" stats one.kymo --sort x 2>&1) || true
orders=$(sed -n 's/.* is not one of //p' <<<"$said" | sed 's/, /\n/g' | sort | paste -sd ' ' -)
[[ $orders == *median* ]] || fail "no orders in the message of stats"
check 'kymo re' 'record recover replay report'
check 'kymo --v' --version
check 'kymo stats --js' --json
check 'kymo info on' one.kymo
check 'kymo record --policy d' drop
check 'kymo stats --sort ' "$orders"
check 'kymo stats --by=' 'category function kernel line lock name stall thread wait'
check 'kymo stats --by=na' name
check 'kymo stats --top ' ''
check 'kymo export one.kymo -o o' one.kymo
check 'kymo completion ' 'bash fish zsh'
check 'kymo manual rec' 'record recover'
check 'kymo help sta' 'stack stats'
# Options of kymo end with the program, whose name may be that of a command.
check 'kymo record --policy drop --fl' --flight
check 'kymo record true --' ''
check 'kymo record true --j' ''
check 'kymo record -- --j' ''
check 'kymo record -o x --memory=sample:5 stats --j' ''
check 'kymo record true o' one.kymo
# Without "=" in COMP_WORDBREAKS the word is whole.
COMP_WORDS=(kymo stats --by=na) COMP_CWORD=2
_kymo
[[ ${COMPREPLY[*]} == --by=name ]] || fail "bash: '--by=na' as one word gives '${COMPREPLY[*]}'"

# Every command that the help lists has a page, and groff has nothing to say about it.
commands=$("$kymo" --help | sed -n '/^Options:/q; s/^  \([a-z-]*\) .*/\1/p')
[[ $commands == *record* ]] || fail "no commands in the help"
for page in "" kymod $commands; do
  "$kymo" manual $page >"$work/page.1"
  grep -q '^\.SH NAME' "$work/page.1" || fail "manual $page: not a page"
  if command -v groff >/dev/null; then
    said=$(groff -Kutf8 -man -Tutf8 -ww "$work/page.1" 2>&1 >"$work/page.txt")
    [[ -z $said ]] || fail "manual $page: $said"
    if [[ $page == record ]]; then
      sed "s/.$(printf "\b")//g" "$work/page.txt" | grep output >/dev/null || fail "manual record: no option --output"
    fi
  fi
done
"$kymo" manual environment | cmp - "$KYMO_SOURCE_DIR/docs/environment.md" || fail "docs/environment.md is not what kymo manual environment prints"
if "$kymo" completion tcsh 2>"$work/error"; then fail "tcsh was accepted"; fi
grep -q "'tcsh' is not one of bash, zsh, fish" "$work/error" || fail "$(cat "$work/error")"
