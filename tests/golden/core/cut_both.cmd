kymo cut both.kymo -o part.kymo --to 30ms && kymo info part.kymo
