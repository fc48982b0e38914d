// A module for tests: answers for every debug handle, and knows whether it is watched.
#pragma once

#include <stdexcept>
#include <string>

#include "kymo/edge_module.h"
#include "kymo/error.h"

namespace kymo::edge::testing {

class TestModule : public Module {
 public:
  std::string module_hierarchy(int64_t debug_handle, const std::string& name) const override {
    return "top(Test)::<unknown>.part" + std::to_string(debug_handle) + "." + name;
  }
  std::string call_stack(int64_t debug_handle) const override {
    return "test.py(" + std::to_string(debug_handle) + "): forward";
  }
  void begin(Log& log, Wanted wanted) override {
    if (refuses) throw std::runtime_error("this engine is not in the mood");
    ++started;
    last_log = &log;
    last_wanted = wanted;
  }
  void end() noexcept override { ++ended; }

  bool refuses = false;
  int started = 0, ended = 0;
  Log* last_log = nullptr;
  Wanted last_wanted;
};

// The text of the exception that `call` throws; "" if it throws nothing.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace kymo::edge::testing
