kymo stats window.kymo
