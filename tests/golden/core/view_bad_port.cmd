# a port that does not exist
exit: 2
kymo view rich.kymo --port 99999
