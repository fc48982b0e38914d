kymo memory memory.kymo -o m.json --device cuda:0 && cat m.json
