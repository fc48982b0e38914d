# what was never given back
kymo memory memory.kymo --leaks --by size --top 1
