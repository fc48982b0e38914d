kymo sinks --help
