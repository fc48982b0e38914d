# The help of kymo import.
kymo import --help
