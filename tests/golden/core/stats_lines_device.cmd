# The device time of the Python functions that launched it: outside of PyTorch's own, and one launch outside of all.
python3 - > run.json <<'END'
import json
def event(cat, name, ts, dur, tid=7, **args): return dict(ph="X", cat=cat, name=name, ts=ts, dur=dur, pid=7, tid=tid, args=args)
events = [event("python_function", "train.py(3): <module>", 0, 1000), event("python_function", "train.py(12): forward", 100, 300),
          event("python_function", "nn.Module: Linear_0", 110, 80), event("python_function", "torch/nn/functional.py(9): linear", 120, 60),
          event("user_annotation", "lin(ear): 5", 125, 40)]
for number, (at, length) in enumerate([(130, 400), (300, 200), (500, 50), (1100, 30)], 1):
    events += [event("cuda_runtime", "cudaLaunchKernel", at, 5, correlation=number),
               event("kernel", "gemm", at + 1000 * number, length, tid="stream 7", correlation=number, device=0, stream=7)]
print(json.dumps({"traceEvents": events}))
END
kymo stats run.json --by line && kymo stats run.json --by line --json --top 1
