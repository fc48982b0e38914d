# a token file that is not there
exit: 2
kymo daemon --dynolog --token nowhere --socket $PWD/k.sock
