# A table of the counters, and what stands out in words.
kymo report gpu_slow.kymo
