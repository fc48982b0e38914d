# on a terminal that is hardly one
terminal: 30
kymo memory memory.kymo --top 2
