kymo flame window.kymo
