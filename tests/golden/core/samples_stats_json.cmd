kymo stats sampled.kymo --by function --json --top 1
