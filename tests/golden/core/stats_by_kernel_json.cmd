kymo stats gpu.kymo --by kernel --top 1 --json
