exit: 3
mask: no program (of \S+ )?is connected
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock 2> /dev/null'
kymo trigger --socket d/kymod.sock --name train; code=$?
kill $daemon
wait $daemon
exit $code
