# a folder that is not there
exit: 1
kymo daemon --socket /nowhere/at/all/kymod.sock
