# says how many rows are not shown
kymo stats rich.kymo --sort max --top 2
