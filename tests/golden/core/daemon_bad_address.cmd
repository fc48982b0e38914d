exit: 2
kymo daemon --dynolog --dynolog-address here:there --socket $PWD/k.sock
