# the window becomes the whole trace
kymo cut window.kymo -o w.kymo && kymo info w.kymo
