kymo cut rich.kymo -o part.kymo --from -5s
