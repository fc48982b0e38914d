exit: 3
kymo export lossy.kymo -o lossy.json --strict
