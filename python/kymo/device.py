"""The same module as kymo.mps, by a name that is true on every accelerator."""
import sys

from kymo import mps
from kymo.mps import profiler

sys.modules[__name__] = mps
sys.modules[__name__ + ".profiler"] = profiler
