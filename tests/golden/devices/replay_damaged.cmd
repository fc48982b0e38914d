# Nothing of a damaged capture is run.
exit: 1
kymo replay damaged.kycap
