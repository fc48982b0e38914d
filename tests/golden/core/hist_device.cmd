# the launch and the work have the same name
kymo hist device.kymo forward
