# the file that the user named, not a temporary one
exit: 1
(ulimit -f 1; kymo merge rich.kymo lossy.kymo -o all.kymo)
