# one file that needs no server
kymo view rich.kymo -o run.html && grep -c kymo-data run.html
