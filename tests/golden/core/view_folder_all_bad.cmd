# no file of a folder is a trace
exit: 1
mkdir traces && echo text > traces/bad.kymo && kymo view traces --no-browser
