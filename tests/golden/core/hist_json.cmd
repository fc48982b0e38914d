kymo hist rich.kymo request --json
