kymo stats device.kymo --by kernel
