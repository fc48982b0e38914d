# so many iterations, and no event more
mask: /[^ "=]*kymo-golden-[^/]+/
mask: (?<=t-)[0-9]+
mask: (?<="pid": )[0-9]+
mask: (?<="bytes": )[0-9]+
mask: (?<="late_ns": )-?[0-9]+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --all --iterations 7 --roundup 5 -o 't-{pid}.kymo' --json; code=$?
kill $program $daemon
wait $daemon
exit $code
