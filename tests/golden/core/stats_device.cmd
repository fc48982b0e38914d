kymo stats device.kymo
