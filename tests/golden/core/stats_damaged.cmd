# one chunk is damaged: the others are counted, and the damage is reported
mask: (?<=chunk at )[0-9]+
exit: 3
kymo stats damaged.kymo --strict
