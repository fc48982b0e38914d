exit: 1
kymo cut clockless.kymo -o part.kymo --from 1ms
