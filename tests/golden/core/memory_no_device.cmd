exit: 2
kymo memory memory.kymo --device cuda:9
