# a program that is not connected, and why
mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
mask: (?<=\()[0-9]+(?=\))
mask: (?<=process )[0-9]+
mask: (?<=, of )\S+
mask: (?<=kymod )[0-9.]+ of \S+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
env -i IS_THERE=1 KYMO_DAEMON=1 XDG_RUNTIME_DIR=/nowhere /bin/sleep 600 & pid=$!
wait_until 'grep -qz IS_THERE /proc/$pid/environ'
kymo doctor $pid --socket d/kymod.sock; code=$?
kill $daemon $pid
wait $daemon
exit $code
