# says what the file looks like
exit: 1
kymo info foreign.json
