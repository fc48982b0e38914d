# The same kernels at a lower clock.
kymo diff gpu.kymo gpu_slow.kymo
