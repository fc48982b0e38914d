# where another one listens
exit: 1
mask: /[^ "=]*kymo-golden-[^/]+/
mask: (?<=process )[0-9]+
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
until kymo ps --socket d/kymod.sock > /dev/null 2>&1; do sleep 0.02; done
kymo daemon --socket $PWD/d/kymod.sock; code=$?
kill $daemon
wait $daemon
exit $code
