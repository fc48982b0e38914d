# A tolerance is a number.
exit: 2
kymo replay small.kycap --tolerance much
