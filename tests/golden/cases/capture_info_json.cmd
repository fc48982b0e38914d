# The same as JSON.
kymo capture-info small.kycap --json
