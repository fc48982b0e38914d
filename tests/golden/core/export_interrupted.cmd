# A signal leaves no temporary files, neither next to the output nor in TMPDIR.
exit: 1
awk 'BEGIN { printf "["; for (i = 0; i < 200000; ++i) printf "{\"ph\":\"X\",\"name\":\"n %d\",\"ts\":%d,\"dur\":2,\"pid\":1,\"tid\":1},", i % 99, i * 3; print "{}]" }' > big.json; for signal in INT TERM HUP; do for after in 0.03 0.1 0.2; do TMPDIR=. timeout -s $signal $after kymo export big.json -o out.json; done; done 2> /dev/null; rm -f out.json; ls | grep -c -e '^kymo-' -e '^out'
