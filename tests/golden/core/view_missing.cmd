# a file that is not there
exit: 1
kymo view missing.kymo --no-browser
