exit: 1
kymo flame rich.kymo -o no/such/folder/x.svg
