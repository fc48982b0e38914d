from typing import Any, Optional, Union, overload

class EventAverage:
    key: str
    count: int
    total_us: float
    self_us: float
    min_us: float
    median_us: float
    max_us: float
    on_device: bool
    category: str
    launched_us: float
    self_launched_us: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    device_memory_usage: int
    self_device_memory_usage: int
    input_shapes: str
    stack: tuple[str, ...]
    @property
    def cpu_time(self) -> float: ...
    @property
    def cpu_time_total(self) -> float: ...
    @property
    def self_cpu_time_total(self) -> float: ...
    @property
    def device_time(self) -> float: ...
    @property
    def device_time_total(self) -> float: ...
    @property
    def self_device_time_total(self) -> float: ...
    @property
    def cuda_time(self) -> float: ...
    @property
    def cuda_time_total(self) -> float: ...
    @property
    def self_cuda_time_total(self) -> float: ...

def of_events(events: list[dict[str, Any]], by_shape: bool = False, stack_n: int = 0) -> EventAverages: ...
def time_text(us: float) -> str: ...

class EventAverages(list[EventAverage]):
    @classmethod
    def of_trace(cls, path: str) -> EventAverages: ...
    def __getitem__(self, index: Union[int, str]) -> EventAverage: ...  # type: ignore[override]
    def total_average(self) -> EventAverage: ...
    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: Optional[str] = None,
              top_level_events_only: bool = False) -> str: ...
