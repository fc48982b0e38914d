// Environment variables that turn something on or off.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/say.h"

namespace kymo::inject {

// An invalid value prints one line to standard error, and counts as not set.
inline bool is_on(const char* variable, bool if_not_set) {
  const char* const value = base::environment(variable);
  if (value == nullptr || *value == '\0') return if_not_set;
  const std::string_view text = value;
  if (text == "on") return true;
  if (text == "off") return false;
  base::say_to_user(std::string(variable) + ": use on or off, not ", text);
  return if_not_set;
}

}  // namespace kymo::inject
