# Chunks that cannot be read are reported by the commands that analyze a trace.
exit: 3
kymo report damaged.kymo >/dev/null; kymo diff damaged.kymo damaged.kymo >/dev/null; kymo path damaged.kymo --strict >/dev/null
