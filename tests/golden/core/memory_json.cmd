kymo memory memory.kymo --json --device heap --top 1
