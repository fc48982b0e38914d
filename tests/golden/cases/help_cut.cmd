kymo cut --help
