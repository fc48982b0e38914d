exit: 2
kymo stats rich.kymo --top 99999999999999999999
