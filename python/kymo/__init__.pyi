from kymo import nvtx as nvtx
from kymo.errors import CompileError as CompileError
from kymo.errors import DeviceError as DeviceError
from kymo.errors import Error as Error
from kymo.errors import InvalidArgument as InvalidArgument
from kymo.errors import NotAvailable as NotAvailable
from kymo.errors import OutOfMemory as OutOfMemory
