# a file that is no socket
exit: 1
mask: /[^ "=]*kymo-golden-[^/]+/
kymo ps --socket both.kymo
