# Why the warps of kernels wait; a trace without samples of kernels says how to get them.
kymo stats gpu_slow.kymo --by stall && kymo stats gpu_slow.kymo --by stall --json | head -20 && kymo stats rich.kymo --by stall
