# what cannot be read is reported at the start
kymo view damaged.kymo -o run.html
