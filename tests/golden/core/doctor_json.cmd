mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
mask: (?<=\()[0-9]+(?=\))
mask: (?<=, of )[^"\s]+
env -i IS_THERE=1 KYMO_DAEMON=/elsewhere.sock /bin/sleep 600 & pid=$!
wait_until 'grep -qz IS_THERE /proc/$pid/environ'
kymo doctor $pid --socket none.sock --json; code=$?
kill $pid
exit $code
