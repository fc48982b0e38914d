# With the counters of the GPU; a kernel that hardly runs in its samples has none.
kymo stats gpu.kymo --by kernel
