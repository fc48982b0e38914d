# what cannot be read is left out, and counted in the copy
kymo cut damaged.kymo -o part.kymo --to 100ms; kymo info part.kymo
