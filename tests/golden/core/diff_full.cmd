# An output that cannot be written is an error: exit code 1 would mean that something is slower.
exit: 2
kymo diff rich.kymo rich.kymo --fail-above 5% > /dev/full
