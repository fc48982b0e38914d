kymo stats device.kymo --by thread
