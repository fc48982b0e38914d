kymo hist damaged.kymo load
