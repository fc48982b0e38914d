# Asked for names: the samples are only counted.
kymo stats sampled.kymo --by name
