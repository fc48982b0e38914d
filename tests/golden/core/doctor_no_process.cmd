mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
kymo doctor 2147483647 --socket none.sock
