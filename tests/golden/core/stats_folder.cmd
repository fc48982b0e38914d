# A folder is not a trace.
exit: 1
mkdir folder && kymo stats folder
