kymo hist rich.kymo 'step {}'
