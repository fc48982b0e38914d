# 'step 0' and its like in rows of their own
kymo stats rich.kymo --full-text --sort name
