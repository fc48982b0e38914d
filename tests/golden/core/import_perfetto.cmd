# An export in Perfetto's format is read again, also compressed and without its name.
kymo export device.kymo -o x.pftrace >/dev/null 2>&1; kymo stats x.pftrace >a; cat a
gzip -c x.pftrace >y; kymo import y -o y.kymo; kymo stats y.kymo | cmp - a
