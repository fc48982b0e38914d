# a file in a folder that is not a trace is left out and named
mkdir traces && cp rich.kymo traces/good.kymo && echo text > traces/bad.kymo && kymo view traces -o run.html && grep -c kymo-data run.html
