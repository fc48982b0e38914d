// One accelerator in use: its memory, its streams, its generator. Created when a device is first named, never
// destroyed: drivers may be unloaded before the program's last destructors run.
//
// Threads: every function can be called from any thread. Locks are taken in this order: the device's, a stream's, the
// markers'. The allocator holds no lock of its own when it calls back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/allocator/allocator.h"
#include "device/backend.h"
#include "device/memory_source.h"
#include "device/random/generator.h"

namespace kymo::device {

class StreamState;
class LibraryState;
class LibraryCache;
class BuiltinKernels;

inline constexpr uint32_t kPoolStreams = 32;  // in addition to the default stream

// True in a forked child of a process that has opened devices; see devices.h.
extern std::atomic<bool> forked_with_devices;
[[noreturn]] void refuse_after_fork();

class DeviceState final : public MemorySource {
 public:
  DeviceState(std::string name, std::unique_ptr<Accelerator> accelerator);
  ~DeviceState() override;

  const std::string& name() const { return name_; }
  Accelerator& accelerator() { return *accelerator_; }
  const DeviceInfo& info() const { return info_; }
  Allocator& allocator() { return *allocator_; }
  random::Generator& generator() { return generator_; }
  LibraryCache& libraries() { return *libraries_; }
  BuiltinKernels& builtins() { return *builtins_; }

  StreamState& default_stream() { return stream(0); }
  StreamState& stream(StreamId id);  // created at its first use
  StreamState& next_stream();        // the next one of the pool, in turn
  StreamState& current_stream();     // this thread's
  void set_current_stream(StreamState& stream);
  // The streams that exist so far.
  std::vector<StreamState*> streams();

  void synchronize() override;
  void synchronize_and_report();  // also throws errors that kernels reported: for callers that asked to wait

  // As the driver reports it, else as the allocator counts it.
  uint64_t driver_allocated();

  // Throws Error in a forked child, before it takes a lock that may have been held at the fork. Throws DeviceError if a
  // reset failed.
  void check_usable() const;

  // Changes with each reset: objects from before are invalid.
  uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
  // No other thread may use the device meanwhile.
  void reset();

  // Markers of events, which are reused. A marker belongs to one event at a time.
  Marker* take_marker(bool timing);
  void give_marker(Marker* marker, bool timing, uint32_t made_in) noexcept;  // `made_in`: the generation of the marker

  // Libraries whose programs must be destroyed when the device is reset.
  void add_library(LibraryState& library);
  void remove_library(LibraryState& library) noexcept;

  // MemorySource, for the allocator.
  Address allocate(size_t bytes) override {
    check_usable();
    return accelerator_->allocate(bytes);
  }
  void release(Address address, size_t bytes) noexcept override {
    if (!lost_.load(std::memory_order_relaxed)) accelerator_->release(address, bytes);
  }
  void order(StreamId before, StreamId after) override;
  size_t recommended_max() const override { return info_.recommended_max; }
  size_t max_allocation() const override { return info_.max_allocation; }

 private:
  void synchronize_each(void (StreamState::*wait)());

  const std::string name_;
  std::unique_ptr<Accelerator> accelerator_;
  const DeviceInfo info_;
  std::unique_ptr<Allocator> allocator_;
  random::Generator generator_{random::Generator::FromSystem{}};
  std::unique_ptr<LibraryCache> libraries_;
  std::unique_ptr<BuiltinKernels> builtins_;

  std::mutex mutex_;  // for the members below
  std::array<std::atomic<StreamState*>, kPoolStreams + 1> streams_{};
  uint32_t next_stream_ = 0;
  std::set<LibraryState*> live_libraries_;
  std::atomic<uint32_t> generation_{1};
  std::atomic<bool> lost_{false};  // a reset failed: the device is unusable

  std::mutex marker_mutex_;  // taken last: a stream's lock may be held
  std::vector<std::unique_ptr<Marker>> markers_;
  std::vector<Marker*> free_markers_[2];  // without timing, with
};

}  // namespace kymo::device
