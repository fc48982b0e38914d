exit: 3
kymo cut lossy.kymo -o part.kymo --from 100ms --strict
