# A very long name is cut to the width of the terminal.
terminal: 80
awk 'BEGIN { name = "gemm<"; for (i = 0; i < 600; ++i) name = name "Tile<" i ">,"; print "["; for (i = 0; i < 20; ++i) printf "{\"ph\":\"X\",\"name\":\"step\",\"ts\":%d,\"dur\":1000,\"pid\":1,\"tid\":1},{\"ph\":\"X\",\"name\":\"%s end>\",\"ts\":%d,\"dur\":500,\"pid\":1,\"tid\":1},", i * 1100, name, i * 1100 + 10; print "{\"ph\":\"X\",\"name\":\"gemm\",\"ts\":30000,\"dur\":1,\"pid\":1,\"tid\":1}]" }' > long.json && kymo path long.json
