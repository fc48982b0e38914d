exit: 1
kymo shader nowhere.metal
