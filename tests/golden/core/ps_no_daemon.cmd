# nobody is there, and what to do
mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
kymo ps --socket none.sock
