kymo timeline device.kymo
