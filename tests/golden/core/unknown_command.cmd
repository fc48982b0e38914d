# the nearest command is suggested
exit: 2
kymo stat rich.kymo
