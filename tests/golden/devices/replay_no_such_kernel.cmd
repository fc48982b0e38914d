# The kernels that there are.
exit: 1
kymo replay small.kycap --kernel thrice
