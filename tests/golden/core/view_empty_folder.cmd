# a folder without traces
exit: 1
mkdir empty && kymo view empty --no-browser
