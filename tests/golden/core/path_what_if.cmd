# A thread launches two kernels and waits for them.
cat >t.json <<'END'
[{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
{"ph":"X","name":"step 1","pid":9,"tid":9,"ts":0,"dur":500},
{"ph":"X","name":"prepare","pid":9,"tid":9,"ts":0,"dur":100},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":100,"dur":10,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":110,"dur":10,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":9,"tid":9,"ts":120,"dur":350},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":130,"dur":270,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"relu","pid":0,"tid":7,"ts":400,"dur":50,"args":{"correlation":2}}]
END
kymo path t.json --what-if 'ge*=0.5'; kymo path t.json --what-if 'prepare=0' --json | grep -A3 what_if
