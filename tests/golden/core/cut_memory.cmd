# stacks from before the cut are kept
kymo cut memory.kymo -o part.kymo --from 12ms && kymo memory part.kymo
