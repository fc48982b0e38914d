# nothing is near
exit: 2
kymo make-coffee
