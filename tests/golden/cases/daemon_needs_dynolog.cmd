# options that would do nothing
exit: 1
kymo daemon --token word --socket $PWD/k.sock
