# what was alive at the peak, by stack
kymo memory memory.kymo
