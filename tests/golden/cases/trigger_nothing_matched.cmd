exit: 3
mask: no program (of \S+ )?is connected
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
until kymo ps --socket d/kymod.sock 2> /dev/null; do sleep 0.02; done
kymo trigger --socket d/kymod.sock --name train; code=$?
kill $daemon
wait $daemon
exit $code
