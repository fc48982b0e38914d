# nothing on the network without a token
exit: 2
kymo daemon --dynolog --dynolog-address 0.0.0.0 --socket $PWD/k.sock
