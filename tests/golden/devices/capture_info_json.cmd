# The same as JSON.
kymo info small.kycap --json
