# what a stranger types
exit: 2
kymo trigger 4711
