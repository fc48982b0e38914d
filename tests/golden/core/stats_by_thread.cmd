kymo stats rich.kymo --by thread
