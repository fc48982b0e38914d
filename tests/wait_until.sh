# wait_until 'COMMAND' repeats a command until it succeeds. After five minutes, which only a hang reaches, it prints the
# command and ends the process group: the shell, and what it has started.
wait_until() {
  wait_until_end=$(($(date +%s) + 300))
  until eval "$1"; do
    if [ "$(date +%s)" -ge "$wait_until_end" ]; then
      echo "waited 300 s for: $1" >&2
      kill 0
    fi
    sleep 0.02
  done
}
