# the queues of devices are tracks; threads and devices have the same name of a range
kymo flame device.kymo
