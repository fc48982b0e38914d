kymo fleet --help
