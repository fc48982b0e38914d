# into a pipe names are whole
kymo stats hostile.kymo
