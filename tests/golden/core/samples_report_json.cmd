kymo report --json sampled.kymo
