kymo export window.kymo -o w.csv && cat w.csv
