kymo cut rich.kymo -o part.kymo --from 25ms --to 0.084s && kymo stats part.kymo
