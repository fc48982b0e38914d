kymo report sampled.kymo
