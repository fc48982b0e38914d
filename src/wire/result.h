// The result of reading untrusted bytes: a value, or the reason why there is none.
//
// For a daemon, invalid bytes are a normal case, so the result is a value and not an exception: a packet cannot end a
// thread.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace kymo::wire {

// One line for a log, with what was wrong and the value.
struct Refusal {
  std::string reason;
  bool operator==(const Refusal&) const = default;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  Result(Refusal refusal) : value_(std::in_place_index<1>, std::move(refusal)) {}

  explicit operator bool() const { return value_.index() == 0; }
  // Only if there is a value.
  T& operator*() { return *std::get_if<0>(&value_); }
  const T& operator*() const { return *std::get_if<0>(&value_); }
  T* operator->() { return std::get_if<0>(&value_); }
  const T* operator->() const { return std::get_if<0>(&value_); }
  // Empty if there is a value.
  std::string reason() const { return *this ? std::string() : std::get_if<1>(&value_)->reason; }

 private:
  std::variant<T, Refusal> value_;
};

}  // namespace kymo::wire
