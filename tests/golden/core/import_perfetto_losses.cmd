# Packets of types that are not imported, and a truncated end.
exit: 3
printf '\n\004\100\005\120\001\n\005\012\003abc\n\100xx' >x.pftrace; kymo import x.pftrace -o x.kymo --strict
