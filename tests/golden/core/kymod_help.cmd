# the daemon by itself
kymod --help
