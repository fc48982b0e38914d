# the outcomes of triggers that nobody waited for
mask: /[^ "=]*kymo-golden-[^/]+/
mask:  +[0-9.]+ [a-zµ]+ ago +[0-9]+ (?= )
mask: (?<=failed) +
mask: (?<=finished) +[0-9].*?(?=  /|  <)
mask: (?<=t-)[0-9]+
mask: (?m)^ *trigger +requested.*
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --all --duration 10ms --quiet -o 't-{pid}.kymo'
kymo trigger --socket d/kymod.sock --all --last 10s --quiet -o 'u-{pid}.kymo' > /dev/null
kymo trigger --status --socket d/kymod.sock; code=$?
kill $program $daemon
wait $daemon
exit $code
