exit: 2
kymo stats rich.kymo --sort longest
