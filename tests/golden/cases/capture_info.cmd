# What a capture holds.
kymo capture-info small.kycap
