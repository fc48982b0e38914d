# Errors are 2, because 1 means slower.
exit: 2
kymo diff a.kymo; kymo diff rich.kymo rich.kymo --fail-above much; kymo diff rich.kymo rich.kymo --fail-above 0.2; kymo diff rich.kymo rich.kymo --json --markdown; kymo diff rich.kymo, rich.kymo; kymo diff nothing.kymo rich.kymo
