# A trace of another tool, without events.
kymo info foreign.json
