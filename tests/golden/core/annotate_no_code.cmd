# The file with the instructions is gone.
exit: 1
kymo annotate sampled.kymo 'libwork.so+0x201' --asm
