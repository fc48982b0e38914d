kymo info sampled.kymo
