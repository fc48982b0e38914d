# Code of the kernel is in no file.
exit: 1
kymo annotate sampled.kymo sys_read --asm
