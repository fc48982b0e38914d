# another tool's trace
exit: 1
kymo memory foreign.json
