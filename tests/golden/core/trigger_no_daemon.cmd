mask: /[^ "=]*kymo-golden-[^/]+/
exit: 1
kymo trigger --all --socket none.sock
