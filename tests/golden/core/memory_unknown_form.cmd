exit: 2
kymo memory memory.kymo -o profile.txt
