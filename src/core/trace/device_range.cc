#include "trace/device_range.h"

#include <utility>

namespace kymo::trace {

DeviceRange device_range(std::string_view category) {
  constexpr std::pair<std::string_view, DeviceRange> kKinds[] = {
      {"copy", DeviceRange::Copy},
      {"gpu_memcpy", DeviceRange::Copy},
      {"fill", DeviceRange::Fill},
      {"gpu_memset", DeviceRange::Fill},
      {"sync", DeviceRange::Wait},
      {"cuda_sync", DeviceRange::Wait},
      {"device range", DeviceRange::Annotation},
      {"gpu_user_annotation", DeviceRange::Annotation},
      {"cuda_event", DeviceRange::Annotation},
  };
  for (const auto& [known, kind] : kKinds)
    if (known == category) return kind;
  return DeviceRange::Kernel;
}

}  // namespace kymo::trace
