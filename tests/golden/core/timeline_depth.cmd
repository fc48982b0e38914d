kymo timeline both.kymo --depth 1 --width 120 --track 'serve/*'
