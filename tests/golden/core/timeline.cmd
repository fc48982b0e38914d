kymo timeline rich.kymo
