kymo timeline hostile.kymo
