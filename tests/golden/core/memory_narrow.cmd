# on a terminal of few columns
terminal: 70
kymo memory memory.kymo --top 2
