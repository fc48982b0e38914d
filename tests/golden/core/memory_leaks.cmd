# what was never freed
kymo memory memory.kymo --leaks --by size --top 1
