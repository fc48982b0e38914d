// The result of reading or checking untrusted input: a value, or the reason why there is none.
//
// For a daemon, and for an agent in somebody's program, invalid input is a normal case. So the result is a value and
// not an exception: a packet cannot end a thread, and the caller decides what to answer. Other code throws kymo::Error.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kymo::base {

// One line for a log or a user, with what was wrong and the value.
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

// The result of a check, which has no value: true if nothing is wrong.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Refusal refusal) : refusal_(std::move(refusal)) {}

  explicit operator bool() const { return !refusal_; }
  // Empty if nothing is wrong.
  std::string reason() const { return refusal_ ? refusal_->reason : std::string(); }

 private:
  std::optional<Refusal> refusal_;
};

using Check = Result<void>;

// The first check that failed.
inline Check first_refusal(std::initializer_list<Check> checks) {
  for (const Check& check : checks)
    if (!check) return check;
  return {};
}

}  // namespace kymo::base
