# no events: an empty flame graph, and why
kymo flame silent.kymo
