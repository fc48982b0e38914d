# a file that was cut off: what is whole is read
mask: \d+(?= bytes are an unfinished)
head -c -500 memory.kymo > cut.kymo && kymo memory cut.kymo --top 1
