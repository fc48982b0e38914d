# A process that cannot be sampled does not replace an older trace. How many descriptors are too few depends on the machine.
sleep 60 & for limit in 4 5 6 7 8 9 10 11 12; do cp rich.kymo old.kymo; (ulimit -n $limit; kymo record --sample 1kHz -o old.kymo --pid $! --duration 10ms) 2> /dev/null || cmp rich.kymo old.kymo; done; kill $!
