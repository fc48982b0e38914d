exit: 1
kymo export rich.kymo -o none/rich.json
