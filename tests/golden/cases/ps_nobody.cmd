# a daemon that nobody is connected to
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
until kymo ps --socket d/kymod.sock 2> /dev/null; do sleep 0.02; done
kymo ps --socket d/kymod.sock; code=$?
kill $daemon
wait $daemon
exit $code
