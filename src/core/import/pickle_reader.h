// Reads Python's pickle format as plain values, and never as code: dictionaries, lists, tuples, texts, numbers,
// booleans and None. A pickle is a program for a stack machine; every instruction that would import, call or build
// something else is refused.
//
//   Pickle pickle(bytes);
//   const PickleValue segments = pickle.member(pickle.top(), "segments");
//   for (const PickleValue& segment : pickle.items(segments)) …
//
// Memory is limited: a pickle whose values need more than a given number of bytes is refused. A byte of the pickle can
// need 50. Values are shared, so a list may be in several places, also in itself: who walks through them must set a
// limit.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::import {

struct PickleValue {
  enum class Type : uint8_t { None, Bool, Int, Float, Text, List, Dict, Mark };
  Type type = Type::None;
  uint32_t container = 0;  // List, Dict: its number; Text: its length
  union {
    int64_t number = 0;  // Bool, Int
    double real;
    const char* text;
  };

  bool is(Type wanted) const { return type == wanted; }
  std::string_view as_text() const { return is(Type::Text) ? std::string_view(text, container) : std::string_view(); }
  int64_t as_number() const { return is(Type::Int) || is(Type::Bool) ? number : 0; }
};

class Pickle {
 public:
  static constexpr size_t kMostBytes = size_t{8} << 30;

  // Reads the whole pickle. `bytes` must stay valid. Throws kymo::Error with the reason if it is not valid, has an
  // instruction that is not allowed, or needs too much memory.
  explicit Pickle(std::string_view bytes, size_t most_bytes = kMostBytes);

  const PickleValue& top() const { return top_; }
  std::span<const PickleValue> items(const PickleValue& list) const;  // of a list or a tuple; empty for another value
  std::span<const std::pair<PickleValue, PickleValue>> entries(const PickleValue& dict) const;
  // None if it is not among the first kMostKeys. Dictionaries of records are small, and the search is linear.
  static constexpr size_t kMostKeys = 256;
  PickleValue member(const PickleValue& dict, std::string_view key) const;

 private:
  void run();
  std::string_view take(size_t count);
  uint64_t take_number(size_t bytes);
  PickleValue take_long(size_t bytes);
  PickleValue take_text(uint64_t length);
  PickleValue pop();
  size_t mark();              // where the values since the last mark begin, without the mark
  void charge(size_t bytes);  // throws if it is too much
  void push(const PickleValue& value);
  void push_list(size_t from);
  void push_dict();
  void append(size_t from);
  void set_items(size_t from);
  void remember(uint64_t number);
  void recall(uint64_t number);

  std::string_view bytes_;
  const size_t most_bytes_;
  size_t used_bytes_ = 0;  // by everything that was ever made
  size_t at_ = 0;
  PickleValue top_;
  std::vector<PickleValue> stack_, memo_;
  std::deque<std::vector<PickleValue>> lists_;
  std::deque<std::vector<std::pair<PickleValue, PickleValue>>> dicts_;
};

bool looks_like_pickle(std::string_view head);

}  // namespace kymo::import
