# a socket that a daemon left behind
mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind("left.sock")'
kymo ps --socket left.sock
