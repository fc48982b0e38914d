kymo flame damaged.kymo
