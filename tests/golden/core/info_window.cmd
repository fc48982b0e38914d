# only what is inside the window counts, also of the losses
kymo info window.kymo
