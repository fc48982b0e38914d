# a trace is there when the command returns
mask: /[^ "=]*kymo-golden-[^/]+/
mask: (?m)^ *[0-9]+ (?= )
mask: (?<=finished) +[0-9].*?(?=  /|  <)
mask: (?<=t-)[0-9]+
mask: (?m)^ *pid +state.*
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --all --duration 100ms -o 't-{pid}.kymo'; code=$?
kill $program $daemon
wait $daemon
exit $code
