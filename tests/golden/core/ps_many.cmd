# who is busy, by which trigger, and of which job (sorted: the second program may have a lower pid)
mask: (?m)^ *pid.*(?=state)
mkdir -m 700 d
kymod --quiet --socket $PWD/d/kymod.sock & daemon=$!
wait_until 'kymo ps --socket d/kymod.sock > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock serves & program=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $program > /dev/null 2>&1'
KYMO_DAEMON=$PWD/d/kymod.sock SLURM_JOB_ID=77 serves ranges & other=$!
wait_until 'kymo ps --socket d/kymod.sock --pid $other > /dev/null 2>&1'
kymo trigger --socket d/kymod.sock --job 77 --duration 1h -o 't-{pid}.kymo' --no-wait --quiet
wait_until 'kymo ps --socket d/kymod.sock --pid $other | grep -q recording'
kymo ps --socket d/kymod.sock | sed -E 's/^ *[0-9]+/PID/; s/^ *pid/pid/; s/ +[0-9.]+ (s|ms) +/  TIME  /' | LC_ALL=C sort; code=$?
kill $program $other $daemon
wait $daemon
exit $code
