kymo cut rich.kymo -o part.kymo --from -20ms --to -10ms && kymo info part.kymo
