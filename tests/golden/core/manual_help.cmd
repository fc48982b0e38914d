kymo manual help | head -3
