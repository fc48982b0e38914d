# the work of devices, below what launched it
kymo flame device.kymo --by device; kymo flame silent.kymo --by device
