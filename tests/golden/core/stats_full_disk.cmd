exit: 1
kymo stats rich.kymo > /dev/full
