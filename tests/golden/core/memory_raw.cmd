kymo memory memory.kymo -o m.raw.json && cut -c 1-120 m.raw.json
