kymo export device.kymo -o device.csv && cat device.csv
