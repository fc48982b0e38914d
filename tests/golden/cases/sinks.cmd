# which tools there are differs from machine to machine
mask: (?<=[a-z]) +(yes|no|on)  .*
kymo sinks
