kymo stats rich.kymo --json
