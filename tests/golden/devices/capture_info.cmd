# What a capture holds.
kymo info small.kycap
