# a program that knows nothing of Kymo, and no daemon either
mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
mask: (?<=\()[0-9]+(?=\))
mask: (?<=, of )\S+
env -i IS_THERE=1 /bin/sleep 600 & pid=$!
wait_until 'grep -qz IS_THERE /proc/$pid/environ'
kymo doctor $pid --socket none.sock; code=$?
kill $pid
exit $code
