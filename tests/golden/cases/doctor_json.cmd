mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
mask: (?<=\()[0-9]+(?=\))
mask: (?<=, of )[^"\s]+
env -i IS_THERE=1 KYMO_DAEMON=/elsewhere.sock /bin/sleep 600 & pid=$!
until grep -qz IS_THERE /proc/$pid/environ; do sleep 0.02; done
kymo doctor $pid --socket none.sock --json; code=$?
kill $pid
exit $code
