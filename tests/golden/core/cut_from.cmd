# what is unfinished stays unfinished
kymo cut rich.kymo -o part.kymo --from 195ms && kymo info part.kymo
