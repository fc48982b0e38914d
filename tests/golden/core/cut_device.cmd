kymo cut device.kymo -o part.kymo --from 1ms --to 2500us
kymo info part.kymo
