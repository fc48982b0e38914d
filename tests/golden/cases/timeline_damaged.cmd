kymo timeline damaged.kymo
