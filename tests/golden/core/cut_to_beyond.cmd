# the length as info shows it, rounded
kymo cut rich.kymo -o part.kymo --to 5s
