from typing import Any

import numpy

class HostArray(numpy.ndarray[Any, Any]):
    @property
    def device(self) -> str: ...  # type: ignore[override]
    def numpy(self) -> numpy.ndarray[Any, Any]: ...
    def cpu(self) -> HostArray: ...
    def numel(self) -> int: ...
