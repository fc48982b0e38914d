#include <algorithm>

#include "kymo/translate.h"

namespace kymo::shader {

std::vector<uint32_t> argument_order(const Kernel& kernel) {
  const std::vector<KernelParameter>& parameters = kernel.parameters;
  std::vector<uint32_t> order(parameters.size());
  using Kind = KernelParameter::Kind;
  const auto counted_as = [&](uint32_t i) {
    return parameters[i].kind == Kind::Value ? Kind::Buffer : parameters[i].kind;
  };
  for (const Kind kind : {Kind::Buffer, Kind::Threadgroup, Kind::Texture, Kind::Sampler}) {
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < parameters.size(); ++i)
      if (counted_as(i) == kind) places.push_back(i);
    std::vector<uint32_t> sorted = places;
    std::ranges::stable_sort(sorted, {}, [&](uint32_t i) { return parameters[i].index; });
    for (size_t i = 0; i < places.size(); ++i) order[places[i]] = sorted[i];
  }
  return order;
}

}  // namespace kymo::shader
