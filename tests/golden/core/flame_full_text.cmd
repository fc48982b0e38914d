# each text is a frame
kymo flame rich.kymo --full-text | head -n 8
