#!/usr/bin/env bash
# Completion scripts do what they say in the shells that are installed, and manual pages are well-formed.
set -euo pipefail
kymo=$KYMO_BINARY_DIR/bin/kymo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "completion_test: $*" >&2; exit 1; }

"$kymo" completion bash >"$work/kymo.bash"
source "$work/kymo.bash"
complete_words() {  # the words of a command line, the last one incomplete
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _kymo
  echo "${COMPREPLY[*]}"
}
[[ $(complete_words kymo sta) == stats ]] || fail "bash: a command"
[[ $(complete_words kymo stats --js) == --json ]] || fail "bash: an option"
[[ $(complete_words kymo record --policy d) == drop ]] || fail "bash: a value"
touch "$work/one.kymo"
[[ $(complete_words kymo info "$work/on") == "$work/one.kymo" ]] || fail "bash: a file"

if command -v fish >/dev/null; then
  "$kymo" completion fish >"$work/kymo.fish"
  export HOME=$work XDG_CONFIG_HOME=$work
  fish -c "source $work/kymo.fish; complete -C 'kymo sta'" | grep -q '^stats' || fail "fish: a command"
  fish -c "source $work/kymo.fish; complete -C 'kymo stats --js'" | grep -q '^--json' || fail "fish: an option"
  fish -c "source $work/kymo.fish; complete -C 'kymo record --policy d'" | grep -q '^drop' || fail "fish: a value"
else
  echo "completion_test: fish is not installed, its script is not tested"
fi
"$kymo" completion zsh >"$work/_kymo"
if command -v zsh >/dev/null; then
  zsh -n "$work/_kymo" || fail "zsh: the script has a syntax error"
else
  echo "completion_test: zsh is not installed, its script is not tested"
fi

# Every command that the help lists has a page, and groff has nothing to say about it.
commands=$("$kymo" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[[ $commands == *record* ]] || fail "no commands in the help"
for page in "" kymod $commands; do
  "$kymo" manual $page >"$work/page.1"
  grep -q '^\.SH NAME' "$work/page.1" || fail "manual $page: not a page"
  if command -v groff >/dev/null; then
    said=$(groff -Kutf8 -man -Tutf8 -ww "$work/page.1" 2>&1 >"$work/page.txt")
    [[ -z $said ]] || fail "manual $page: $said"
    if [[ $page == record ]]; then
      sed "s/.$(printf "\b")//g" "$work/page.txt" | grep -q output || fail "manual record: no option --output"
    fi
  fi
done
if "$kymo" completion tcsh 2>"$work/error"; then fail "tcsh was accepted"; fi
grep -q "'tcsh' is not one of bash, zsh, fish" "$work/error" || fail "$(cat "$work/error")"
