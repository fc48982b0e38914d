# a program that says no
exit: 1
mask: (?m)^ *[0-9]+ (?= )
mask: (?m)^ *pid +state.*
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves refuses & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --all --duration 20ms -o 't-{pid}.kymo'; code=$?
kill $program $daemon
wait $daemon
exit $code
