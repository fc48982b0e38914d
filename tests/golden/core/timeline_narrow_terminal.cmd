# a terminal of a few columns still gets a timeline
terminal: 20
kymo timeline rich.kymo
