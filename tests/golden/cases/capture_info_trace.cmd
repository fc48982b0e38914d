# A trace is no capture.
exit: 1
kymo capture-info rich.kymo
