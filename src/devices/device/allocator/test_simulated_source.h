// A simulated driver and device for tests of the allocator. They detect every mistake that the allocator can make.
//
// Memory is a range of addresses, allocated first fit within a capacity. The device has a vector clock per stream. The
// clock of stream a has an entry for each stream: how much of that stream's work is certainly done when work queued on
// stream a runs. begin() states that a new owner uses a block on its home stream. It records a fault unless all earlier
// use of these addresses has ended for that stream. release() records a fault unless it has ended for the host. Faults
// are texts, so that a test shows what went wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device/allocator/block.h"
#include "device/memory_source.h"

namespace kymo::device {

class SimulatedSource final : public MemorySource {
 public:
  static constexpr StreamId kStreams = kMaxStreams;

  explicit SimulatedSource(size_t max, size_t recommended = 0, size_t longest = 0)
      : capacity(max), recommended_(recommended != 0 ? recommended : max), longest_(longest != 0 ? longest : max) {}

  Address allocate(size_t bytes) override {
    const std::lock_guard held(mutex_);
    ++allocations;
    if (throw_on_allocate) throw std::runtime_error("the driver is gone");
    if (bytes == 0 || bytes % kBlockAlignment != 0) fault("an allocation of " + std::to_string(bytes) + " bytes");
    if (bytes > longest_) fault("an allocation longer than the longest");
    if (failures_of_100 > 0 && static_cast<int>(random_() % 100) < failures_of_100) return 0;
    if (taken_ + bytes > capacity) return 0;
    Address at = kFirst;
    for (const auto& [address, size] : segments_) {
      if (address - at >= bytes) break;
      at = address + size;
    }
    segments_[at] = bytes;
    taken_ += bytes;
    return at;
  }

  void release(Address address, size_t bytes) noexcept override {
    const std::lock_guard held(mutex_);
    ++releases;
    const auto found = segments_.find(address);
    if (found == segments_.end() || found->second != bytes) return fault("a release of what was not allocated");
    for (const Use& use : uses_)
      if (use.begin < address + bytes && use.end > address && use.time > host_[use.stream])
        fault("a release of memory that stream " + std::to_string(use.stream) + " still uses");
    forget(address, address + bytes);
    segments_.erase(found);
    taken_ -= bytes;
  }

  void order(StreamId before, StreamId after) override {
    const std::lock_guard held(mutex_);
    ++orders;
    if (throw_on_order) throw std::runtime_error("the stream is gone");
    join(clocks_[after], clocks_[before]);
  }

  void synchronize() override {
    {
      const std::lock_guard held(mutex_);
      ++synchronizes;
      if (throw_on_synchronize) throw std::runtime_error("the device is gone");
      for (StreamId stream = 0; stream < kStreams; ++stream) host_[stream] = clocks_[stream][stream];
      for (Clock& clock : clocks_) join(clock, host_);
    }
    if (after_synchronize) std::exchange(after_synchronize, nullptr)();
  }

  size_t recommended_max() const override { return recommended_; }
  size_t max_allocation() const override { return longest_; }

  // The block's new owner uses it on its home stream.
  void begin(const Block& block) {
    const std::lock_guard held(mutex_);
    const Address end = block.address + block.size;
    const auto after = segments_.upper_bound(block.address);
    if (block.address % kBlockAlignment != 0) fault("a block that is not aligned");
    if (after == segments_.begin() || std::prev(after)->first + std::prev(after)->second < end)
      fault("a block outside what was allocated");
    for (const Use& use : uses_)
      if (use.begin < end && use.end > block.address && use.time > clocks_[block.stream][use.stream])
        fault("stream " + std::to_string(block.stream) + " got memory that stream " + std::to_string(use.stream) +
              " still uses");
    forget(block.address, end);
    work(block, block.stream);
  }

  // Its owner uses it on another stream. First it orders that stream after the block's own stream, as every owner must.
  void also(const Block& block, StreamId stream) {
    const std::lock_guard held(mutex_);
    join(clocks_[stream], clocks_[block.stream]);
    work(block, stream);
  }

  size_t taken() const {
    const std::lock_guard held(mutex_);
    return taken_;
  }
  std::map<Address, size_t> segments() const {
    const std::lock_guard held(mutex_);
    return segments_;
  }
  std::string faults() const {
    const std::lock_guard held(mutex_);
    return faults_;
  }
  // The device is reset: no work, no memory.
  void reset() {
    const std::lock_guard held(mutex_);
    segments_.clear();
    uses_.clear();
    taken_ = 0;
  }

  size_t capacity;
  int failures_of_100 = 0;
  // Called once: what another thread does before the allocator knows that the device was idle.
  std::function<void()> after_synchronize;
  bool throw_on_allocate = false, throw_on_order = false, throw_on_synchronize = false;
  size_t allocations = 0, releases = 0, orders = 0, synchronizes = 0;

 private:
  static constexpr Address kFirst = Address{1} << 32;

  using Clock = std::array<uint64_t, kStreams>;
  struct Use {
    Address begin, end;
    StreamId stream;
    uint64_t time;
  };

  static void join(Clock& clock, const Clock& other) {
    for (StreamId stream = 0; stream < kStreams; ++stream) clock[stream] = std::max(clock[stream], other[stream]);
  }
  void work(const Block& block, StreamId stream) {
    uses_.push_back({block.address, block.address + block.size, stream, ++clocks_[stream][stream]});
  }
  // Forgets earlier use of these addresses: a later owner only has to wait for the current owner.
  void forget(Address begin, Address end) {
    std::vector<Use> kept;
    for (const Use& use : uses_) {
      if (use.begin >= end || use.end <= begin) {
        kept.push_back(use);
        continue;
      }
      if (use.begin < begin) kept.push_back({use.begin, begin, use.stream, use.time});
      if (use.end > end) kept.push_back({end, use.end, use.stream, use.time});
    }
    uses_ = std::move(kept);
  }
  void fault(const std::string& text) { faults_ += text + "\n"; }

  mutable std::mutex mutex_;
  size_t recommended_, longest_;
  size_t taken_ = 0;
  std::map<Address, size_t> segments_;
  std::array<Clock, kStreams> clocks_{};
  Clock host_{};
  std::vector<Use> uses_;
  std::mt19937 random_{1};
  std::string faults_;
};

}  // namespace kymo::device
