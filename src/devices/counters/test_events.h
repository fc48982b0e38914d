// For tests: skips a test that needs an event which this machine does not count, and prints the reason.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "counters/events.h"
#include "kymo/error.h"

namespace kymo::counters {

inline std::string why_not_countable(const std::vector<std::string>& names) {
  try {
    find_events(names);
    return "";
  } catch (const NotAvailable& error) {
    return error.what();
  }
}

#define KYMO_NEEDS_EVENTS(...) \
  if (const std::string why = why_not_countable({__VA_ARGS__}); !why.empty()) GTEST_SKIP() << why

}  // namespace kymo::counters
