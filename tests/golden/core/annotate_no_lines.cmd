# Its code has no debug information.
exit: 1
kymo annotate sampled.kymo 'libwork.so*'
