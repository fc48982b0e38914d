# where another one listens
exit: 1
mask: /[^ "=]*kymo-golden-[^/]+/
mask: (?<=process )[0-9]+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
kymo daemon --socket $PWD/d/kymod.sock; code=$?
kill $daemon
wait $daemon
exit $code
