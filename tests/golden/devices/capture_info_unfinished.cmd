# The program ended within the capture.
exit: 1
kymo info unfinished.kycap
