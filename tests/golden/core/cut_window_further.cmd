# times count from the first event inside the window
kymo cut window.kymo -o part.kymo --from 10ms --to 20ms && kymo info part.kymo
