kymo timeline window.kymo
