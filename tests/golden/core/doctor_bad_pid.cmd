exit: 2
kymo doctor me
