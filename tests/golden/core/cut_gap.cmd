kymo cut rich.kymo -o part.kymo --from 199.3ms --to 199.9ms
