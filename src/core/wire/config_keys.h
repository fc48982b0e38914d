// The keys of a config: the name of each, the member of TraceRequest that it sets, and its allowed values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/config.h"

namespace kymo::wire {

template <class T>
using RequestMember = T TraceRequest::*;

struct ConfigKey {
  std::string_view name;
  std::variant<RequestMember<bool>, RequestMember<uint64_t>, RequestMember<std::optional<uint64_t>>,
               RequestMember<std::string>, RequestMember<std::vector<std::string>>>
      member;
  uint64_t most = INT32_MAX;  // max of a number
  uint64_t scale = 1;         // factor for a number
  bool is_alias = false;      // another name for an earlier key: read, but never written
};

// In the order of writing.
std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(std::string_view name);

// Keys of older versions, which have no effect any more.
bool is_retired_config_key(std::string_view name);

bool is_activity_type(std::string_view name);

}  // namespace kymo::wire
