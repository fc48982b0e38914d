# nothing to complain of
mask: /[^ "=]*kymo-golden-[^/]+/
mask: (?<=\()[0-9]+(?=\))
mask: (?<=process )[0-9]+
mask: (?<=, of )\S+
mask: (?<=kymod )[0-9.]+ of \S+
mask: (?<=doctor )[0-9]+
mask: (?<=-CONT )[0-9]+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo doctor --socket d/kymod.sock $program; code=$?
kill $program $daemon
wait $daemon
exit $code
