# the nearest option is suggested
exit: 2
kymo stats rich.kymo --ful-text
