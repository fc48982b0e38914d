kymo recover rich.kymo --json
