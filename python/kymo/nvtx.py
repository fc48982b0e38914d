"""Annotations with the names of torch.cuda.nvtx.

>>> from kymo import nvtx
>>> nvtx.range_push("step")
0
>>> nvtx.range_pop()
0
"""
from kymo._annotate import range_pop, range_push

__all__ = ["range_pop", "range_push"]
