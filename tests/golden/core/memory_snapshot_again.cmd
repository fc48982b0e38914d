# The snapshot that Kymo writes, read again.
kymo memory memory.kymo -o x.pickle >/dev/null; kymo memory x.pickle --json | python3 -c '
import json, sys
print(json.dumps(json.load(sys.stdin), indent=1)[:1500])'
