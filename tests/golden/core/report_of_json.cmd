# A trace of PyTorch's form: two steps, kernels that wait for launches, a copy that nothing hides.
cat >t.json <<'END'
{"traceEvents": [
{"ph":"M","name":"process_name","pid":9,"tid":0,"args":{"name":"python"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":9,"tid":9,"ts":0,"dur":1000},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":9,"tid":9,"ts":1000,"dur":1400},
{"ph":"X","cat":"cpu_op","name":"load data","pid":9,"tid":9,"ts":10,"dur":300},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":320,"dur":100,"args":{"Input Dims":[[64,64],[64,64]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":350,"dur":20,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":380,"dur":400,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"cpu_op","name":"load data","pid":9,"tid":9,"ts":1010,"dur":600},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":9,"tid":9,"ts":1650,"dur":20,"args":{"correlation":2}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":1680,"dur":200,"args":{"device":0,"stream":7,"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1700,"dur":20,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1890,"dur":400,"args":{"device":0,"stream":7,"correlation":3}}
]}
END
kymo report t.json
