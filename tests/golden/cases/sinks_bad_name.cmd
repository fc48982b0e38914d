# the program continues, and the bad name is reported
mask: (?<=[a-z]) +(yes|no|on)  .*
KYMO_SINKS=usdt,nonsense kymo sinks
