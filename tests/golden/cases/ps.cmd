# one program, doing nothing but its own
mask: (?m)^ *pid +running for +(?=state)
mask: (?m)^ *[0-9]+ +[0-9.]+ (s|ms) +(?=idle)
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
until kymo ps --socket d/kymod.sock 2> /dev/null; do sleep 0.02; done
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
until kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1; do sleep 0.02; done
kymo ps --socket d/kymod.sock; code=$?
kill $program $daemon
wait $daemon
exit $code
