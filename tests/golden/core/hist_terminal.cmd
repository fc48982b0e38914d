# the bars fit the terminal
terminal: 50
kymo hist many.kymo forward
