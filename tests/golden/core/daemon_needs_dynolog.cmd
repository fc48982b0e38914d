# options that would do nothing
exit: 2
kymo daemon --token word --socket $PWD/k.sock
