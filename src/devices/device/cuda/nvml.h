// The device memory that this process holds, from NVML (libnvidia-ml.so.1, part of the driver, opened at run time).
// CUDA itself reports only the free memory of the whole device, which other processes use too.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace kymo::device::cuda {

// `uuid` as in DeviceInfo. Empty if there is no NVML, or if NVML does not know this process (in a container with its
// own process ids). The first call takes about 10 ms, later ones 0.4 ms.
std::optional<size_t> process_memory(const std::string& uuid);

}  // namespace kymo::device::cuda
