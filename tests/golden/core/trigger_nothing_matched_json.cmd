exit: 3
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
kymo trigger --socket d/kymod.sock --pid 2147483647 --json; code=$?
kill $daemon
wait $daemon
exit $code
