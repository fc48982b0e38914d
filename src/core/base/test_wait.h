// Waits of tests. Each has a limit, which only a hang reaches, and says what it waited for.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace kymo::base {

// Checks every millisecond until it holds. If it does not within the limit, the test fails with `what` in the message,
// and this returns false.
inline bool wait_until(const std::string& what, const std::function<bool()>& holds,
                       std::chrono::seconds limit = std::chrono::seconds(600)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      ADD_FAILURE() << "waited " << limit.count() << " s for " << what;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace kymo::base
