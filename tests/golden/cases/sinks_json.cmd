# which tools there are differs from machine to machine
mask: (?<="on": )false(,\n *"absent": "[^"]*")?
kymo sinks --json
