# A byte of the calls is wrong.
exit: 1
kymo info damaged.kycap
