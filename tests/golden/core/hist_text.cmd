kymo hist rich.kymo 'step 7'
