// XXH3 of data that comes in parts, and of a piece of a buffer. Both detect damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace kymo::capture {

// 64 bits, for a whole file.
class Checksum {
 public:
  Checksum();
  void add(base::Bytes bytes);
  uint64_t value() const;

 private:
  struct State;  // the library's
  struct Free {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Free> state_;
};

// 128 bits, to compare pieces: two pieces with the same hash are treated as equal.
struct PieceHash {
  uint64_t low = 0, high = 0;
  bool operator==(const PieceHash&) const = default;
};
PieceHash hash_piece(base::Bytes bytes);

}  // namespace kymo::capture
