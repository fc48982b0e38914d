# for other programs
mask: (?<="(pid|uid)": )[0-9]+
mask: (?<=_at_ns": )[0-9]+
mask: (?s)(?<="parents": )\[.*?\]
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo ps --socket d/kymod.sock --json; code=$?
kill $program $daemon
wait $daemon
exit $code
