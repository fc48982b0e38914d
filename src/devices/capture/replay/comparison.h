// Compares the buffers of a replay with those of the program: bit by bit, or within a tolerance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/records.h"
#include "capture/replay/player.h"
#include "kymo/tensor.h"

namespace kymo::capture {

struct Mismatch {
  uint32_t buffer = 0;
  DType dtype = DType::U8;
  uint64_t element = 0;   // the first one that differs
  std::string then, now;  // its values
  uint64_t differing = 0, elements = 0;
};

class Comparison {
 public:
  // Floating types may differ by `tolerance` times the larger magnitude; 0: all bits must be equal. NaN equals NaN.
  Comparison(PieceCache& pieces, double tolerance) : pieces_(pieces), tolerance_(tolerance) {}

  void add(const ResultRecord& then, DType dtype, const device::Tensor& now);

  const std::vector<Mismatch>& mismatches() const { return mismatches_; }
  uint64_t compared() const { return compared_; }  // buffers
  uint64_t unknown() const { return unknown_; }    // whose result was not captured

 private:
  void compare(base::Bytes then, base::Bytes now, uint64_t first_element, Mismatch& mismatch) const;

  PieceCache& pieces_;
  const double tolerance_;
  std::vector<Mismatch> mismatches_;
  std::vector<std::byte> host_;
  uint64_t compared_ = 0, unknown_ = 0;
};

}  // namespace kymo::capture
