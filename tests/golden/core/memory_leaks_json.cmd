# what is left on a device, as JSON
kymo memory memory.kymo --json --leaks --by range --device cuda:0
