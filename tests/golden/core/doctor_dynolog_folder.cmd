# one that looks for a socket in a folder
exit: 1
mask: /[^ "=]*kymo-golden-[^/]+/
mask: (?<=\()[0-9]+(?=\))
mask: (?<=process )[0-9]+
mask: (?<=, of )\S+
mask: (?<=kymod )[0-9.]+ of \S+
mask: (?<=doctor )[0-9]+
mask: (?<=-CONT )[0-9]+
env -i IS_THERE=1 KINETO_USE_DAEMON=1 KINETO_IPC_SOCKET_DIR=/nowhere /bin/sleep 600 & program=$!
wait_until 'grep -qz IS_THERE /proc/$program/environ'
kymo doctor --socket none.sock $program; code=$?
kill -CONT $program
kill $program
exit $code
