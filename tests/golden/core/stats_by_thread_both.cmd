kymo stats both.kymo --by thread
