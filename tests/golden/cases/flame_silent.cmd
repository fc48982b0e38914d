# no events: an empty flame graph
kymo flame silent.kymo
