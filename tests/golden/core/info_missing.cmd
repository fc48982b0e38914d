exit: 1
kymo info none.kymo
