# a file that is not a socket
exit: 1
mask: /[^ "=]*kymo-golden-[^/]+/
kymo ps --socket both.kymo
