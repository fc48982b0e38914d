// Texts that differ only in numbers after an equals sign, as those of PyTorch's emit_nvtx: "aten::addmm, seq = 71,
// op_id = 1034". They share one name, which has a place for each number: "aten::addmm, seq = {}, op_id = {}".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kymo/kymo.h"

namespace kymo::inject::nvtx {

class NumberedText {
 public:
  explicit NumberedText(std::string_view text) noexcept;

  uint32_t count() const noexcept { return count_; }  // 0: the text has none, or is too long, or has braces
  const kymo_arg* args() const noexcept { return args_.data(); }
  std::string_view name() const noexcept { return {name_.data(), length_}; }

 private:
  static constexpr size_t kLongest = 1024, kMostNumbers = 4;
  uint32_t count_ = 0, length_ = 0;
  std::array<kymo_arg, kMostNumbers> args_;
  std::array<char, kLongest> name_;
};

}  // namespace kymo::inject::nvtx
