# The program ended within the capture.
exit: 1
kymo capture-info unfinished.kycap
