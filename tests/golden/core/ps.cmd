# one program, doing nothing but its own
mask: (?m)^ *pid +running for +(?=state)
mask: (?m)^ *[0-9]+ +[0-9.]+ (s|ms) +(?=idle)
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo ps --socket d/kymod.sock; code=$?
kill $program $daemon
wait $daemon
exit $code
