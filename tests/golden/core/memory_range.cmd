# ranges, of one memory
kymo memory memory.kymo --by range --device cuda:0
