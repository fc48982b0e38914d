# A trace of another tool, without events.
kymo memory foreign.json
