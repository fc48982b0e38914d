# Prints what zsh completes at the end of a line, one match in each line.
#
# Usage: zsh -f zsh_complete.zsh FOLDER LINE    FOLDER: where _kymo is
#
# An interactive zsh runs in a pseudo-terminal. In it, compadd writes the matches to a file.
zmodload zsh/zpty || exit 1
folder=$1 line=$2
work=$(mktemp -d)
cat >$work/start.zsh <<END
PROMPT=
fpath=($folder \$fpath)
autoload -U compinit
compinit -D -u
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ \${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a hits
    builtin compadd -A hits "\$@"
    print -rl -- \$hits >>$work/hits
  fi
  builtin compadd "\$@"
}
finish() { touch $work/done; }
comppostfuncs=(finish)
touch $work/started
END
await() {  # a file
  for attempt in {1..600}; do
    [[ -e $1 ]] && return
    zpty -r -t z output
    sleep 0.05
  done
  print -u 2 "zsh_complete: no answer"
  exit 2
}
zpty -b z zsh -f -i
zpty -w z "source $work/start.zsh"
await $work/started
zpty -n -w z "$line"$'\t'
await $work/done
zpty -d z
touch $work/hits
sed '/^$/d' $work/hits | sort -u
rm -rf $work
