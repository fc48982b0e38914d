exit: 1
kymo hist rich.kymo stpe
