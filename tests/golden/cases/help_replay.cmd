kymo replay --help
