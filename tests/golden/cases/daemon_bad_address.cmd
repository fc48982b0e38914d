exit: 1
kymo daemon --dynolog --dynolog-address here:there --socket $PWD/k.sock
