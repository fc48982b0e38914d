exit: 2
kymo stats --jsn
