# without a command
exit: 2
kymo
