# a reader that leaves is no error
kymo stats rich.kymo --full-text | head -n 2
