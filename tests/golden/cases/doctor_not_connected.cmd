# a program that is not connected, and why
mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
mask: (?<=\()[0-9]+(?=\))
mask: (?<=process )[0-9]+
mask: (?<=, of )\S+
mask: (?<=kymod )[0-9.]+ of \S+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
until kymo ps --socket d/kymod.sock 2> /dev/null; do sleep 0.02; done
env -i IS_THERE=1 KYMO_DAEMON=1 XDG_RUNTIME_DIR=/nowhere /bin/sleep 600 & pid=$!
until grep -qz IS_THERE /proc/$pid/environ; do sleep 0.02; done
kymo doctor $pid --socket d/kymod.sock; code=$?
kill $daemon $pid
wait $daemon
exit $code
