# a folder that the daemon does not allow
exit: 1
mask: /[^ "=]*kymo-golden-[^/]+/
mask: kymo-golden-[^/;,]+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock --output-folder $PWD/d & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --all --duration 20ms -o '{pid}.kymo'; code=$?
kill $program $daemon
wait $daemon
exit $code
