# A JSON export is read again.
kymo export device.kymo -o x.json >/dev/null 2>&1; kymo stats x.json
