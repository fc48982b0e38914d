terminal: 90
NO_COLOR=1 kymo stats hostile.kymo
