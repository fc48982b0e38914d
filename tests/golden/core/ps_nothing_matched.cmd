# what matches nothing says why
exit: 3
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
kymo ps --socket d/kymod.sock --name train --job 7; code=$?
kill $daemon
wait $daemon
exit $code
