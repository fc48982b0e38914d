#include <algorithm>

#include "kymo/translate.h"

namespace kymo::shader {

std::vector<uint32_t> argument_order(const Kernel& kernel) {
  const std::vector<KernelParameter>& parameters = kernel.parameters;
  std::vector<uint32_t> order(parameters.size());
  for (const bool of_group : {false, true}) {
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < parameters.size(); ++i)
      if ((parameters[i].kind == KernelParameter::Kind::Threadgroup) == of_group) places.push_back(i);
    std::vector<uint32_t> sorted = places;
    std::ranges::stable_sort(sorted, {}, [&](uint32_t i) { return parameters[i].index; });
    for (size_t i = 0; i < places.size(); ++i) order[places[i]] = sorted[i];
  }
  return order;
}

}  // namespace kymo::shader
