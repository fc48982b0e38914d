kymo stats rich.kymo
