kymo stats rich.kymo --json --by thread --top 1
