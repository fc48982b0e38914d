# damage is told of
exit: 3
kymo memory damaged.kymo --strict
