# The call waits for both streams: if the longer kernel takes no time, the other one is the limit.
cat >t.json <<'END'
[{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
{"ph":"X","name":"step 1","pid":9,"tid":9,"ts":0,"dur":500},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":0,"dur":10,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":10,"dur":10,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":9,"tid":9,"ts":20,"dur":480},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":20,"dur":470,"args":{"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"relu","pid":0,"tid":8,"ts":30,"dur":400,"args":{"stream":8,"correlation":2}}]
END
kymo path t.json --what-if gemm=0
