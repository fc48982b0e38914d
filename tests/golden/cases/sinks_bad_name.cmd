# the program runs on, and whoever asked is told
mask: (?<=[a-z]) +(yes|no|on)  .*
KYMO_SINKS=usdt,nonsense kymo sinks
