// The keys of a config: what each is called, which member of a TraceRequest it sets, and what it may be.
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
  uint64_t most = INT32_MAX;  // of a number
  uint64_t scale = 1;         // what a number is multiplied by
  bool is_alias = false;      // another name for a key before it: read and never written
};

// In the order in which they are written.
std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(std::string_view name);

// Keys of older versions, which mean nothing any more.
bool is_retired_config_key(std::string_view name);

bool is_activity_type(std::string_view name);

}  // namespace kymo::wire
