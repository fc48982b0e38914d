kymo timeline silent.kymo
