# Where it was captured is not here.
exit: 1
mask: \(.*\)$
kymo replay far.kycap
