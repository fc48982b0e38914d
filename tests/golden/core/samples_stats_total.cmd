kymo stats sampled.kymo --sort total --top 2
