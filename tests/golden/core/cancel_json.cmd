# taken back, for other programs
mask: (?<="pid": )[0-9]+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --all --duration 1h --no-wait --quiet -o 't-{pid}.kymo'
kymo trigger --socket d/kymod.sock --cancel 1 --json; code=$?
kill $program $daemon
wait $daemon
exit $code
