// Values that are changed for the time of a scope, also if an exception leaves it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "shader/diagnostic.h"

namespace kymo::shader {

// The nesting depth: an expression within an expression, a call within a call.
class DepthGuard {
 public:
  DepthGuard(uint32_t& depth, uint32_t max, const Location& at, std::string_view what) : depth_(depth) {
    if (depth_ >= max) {
      throw Rejected{at, std::string(what) + " nests deeper than " + std::to_string(max) + " levels: split it"};
    }
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  uint32_t& depth_;
};

// Restores a value when it is destroyed.
template <typename T>
class Restore {
 public:
  explicit Restore(T& value) : value_(value), before_(value) {}
  ~Restore() { value_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& value_;
  T before_;
};

}  // namespace kymo::shader
