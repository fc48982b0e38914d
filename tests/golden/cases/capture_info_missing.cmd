# There is no such folder.
exit: 1
kymo capture-info nowhere.kycap
