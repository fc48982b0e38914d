kymo cut device.kymo -o part.kymo --track 'GPU 0*/*' && kymo stats part.kymo --by thread
