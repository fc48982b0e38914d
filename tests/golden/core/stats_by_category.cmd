kymo stats rich.kymo --by category
