# Samples are instants of their threads.
kymo export sampled.kymo -o run.json && grep -c '"sample"' run.json
