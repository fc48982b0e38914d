// For tests: a StampDriver whose device memory is host memory, which counts what it is asked for.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "device/stamps/stamps.h"

namespace kymo::device {

class TestStampDriver final : public StampDriver {
 public:
  std::optional<int64_t> offset = 1'000;
  bool has_memory = true;
  bool busy = false;  // fences and copies stay pending
  bool failed = false;
  int fences = 0, copies = 0;

  std::optional<int64_t> timer_offset() override { return offset; }
  std::optional<StampBlock> allocate(size_t bytes) override {
    if (!has_memory) return std::nullopt;
    for (int i = 0; i < 2; ++i) memory_.push_back(std::make_unique<std::byte[]>(bytes));
    return StampBlock{reinterpret_cast<uint64_t>((memory_.end() - 2)->get()), memory_.back().get()};
  }
  void fence() override { ++fences; }
  void copy(const StampBlock& block, size_t at, size_t bytes) override {
    ++copies;
    std::memcpy(block.host + at, reinterpret_cast<const std::byte*>(block.device) + at, bytes);
  }
  void end_copies() override {}
  StampProgress look() override {
    if (failed) return StampProgress::Failed;
    return busy ? StampProgress::Pending : StampProgress::Reached;
  }
  void wait() override {}

 private:
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace kymo::device
