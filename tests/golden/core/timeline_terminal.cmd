terminal: 100
kymo timeline rich.kymo --from -50ms
