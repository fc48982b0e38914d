kymo recover rich.kymo
