exit: 3
kymo flame lossy.kymo -o x.svg --strict
