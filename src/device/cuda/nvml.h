// What this process holds of a device's memory, from NVML (libnvidia-ml.so.1, part of the driver, opened at run time):
// CUDA itself tells only what is free on the whole device, which others use too.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace kymo::device::cuda {

// `uuid` as in DeviceInfo. Nothing where there is no NVML, or where it does not know this process (in a container with
// process numbers of its own). The first call takes about 10 ms, later ones 0.4 ms.
std::optional<size_t> process_memory(const std::string& uuid);

}  // namespace kymo::device::cuda
