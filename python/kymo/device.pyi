from kymo.mps import *
from kymo.mps import profiler as profiler
