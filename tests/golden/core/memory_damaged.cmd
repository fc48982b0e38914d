# damage is reported
exit: 3
kymo memory damaged.kymo --strict
