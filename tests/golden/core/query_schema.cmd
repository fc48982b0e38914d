kymo query --schema
