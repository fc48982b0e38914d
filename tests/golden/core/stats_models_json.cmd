kymo stats models.kymo --by thread --json --top 2
