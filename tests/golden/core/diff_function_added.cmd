# A function that has samples on one side only is not certain to be new.
kymo cut sampled.kymo -o part.kymo --to 1.5ms; kymo diff part.kymo sampled.kymo
