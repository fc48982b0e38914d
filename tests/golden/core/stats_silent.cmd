kymo stats silent.kymo
