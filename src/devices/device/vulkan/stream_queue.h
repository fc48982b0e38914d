// An in-order queue of work: the command buffers of a stream, submitted to one of the driver's queues.
//
// An operation is recorded into the open command buffer, after a barrier that orders it after the previous one. If
// nothing of the stream is in flight, the buffer is submitted at once. Otherwise operations are gathered, up to kBatch,
// so that a stream of small kernels needs few submissions. All functions that wait (flush, record, wait, synchronize,
// redeem) submit first. A submission raises the stream's timeline by one when it is done.
//
// Used by one thread at a time. A gathered launch costs the driver's own recording calls and some tens of nanoseconds;
// it neither allocates nor locks.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/backend.h"
#include "device/memory_source.h"
#include "device/vulkan/kernel.h"
#include "device/vulkan/timeline.h"

namespace kymo::device::vulkan {

// Memory that the host and the device share, used as a ring: the space for a submission is free again when the
// submission is done. The device copies from and to it, or kernels read their arguments in it. Used by one thread at a
// time. Allocated at the first use. Space costs some nanoseconds; the driver is asked only when the ring is full.
class Staging {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;
  enum class Use : uint8_t { Copies, Arguments };
  // Max size of one part, so that several parts are in flight together.
  static constexpr size_t kLargest = size_t{1} << 20;

  struct Space {
    std::byte* host = nullptr;
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t offset = 0;
    Address address = 0;  // for kernels; only of Arguments
  };

  Staging(Context& context, Timeline& timeline, Use use) : context_(context), timeline_(timeline), use_(use) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // At most kLargest bytes, at a multiple of 64, in use until the timeline reaches `value`, which never decreases from
  // call to call. Empty: the ring is full until oldest() is reached.
  std::optional<Space> take(size_t bytes, uint64_t value);
  uint64_t oldest() const { return used_.front().value; }

 private:
  struct Used {
    uint64_t end = 0;  // a position
    uint64_t value = 0;
  };

  void allocate();

  Context& context_;
  Timeline& timeline_;
  const Use use_;
  Buffer buffer_;
  // Positions only increase; a position modulo kBytes is an offset in the buffer.
  uint64_t head_ = 0, tail_ = 0;
  std::deque<Used> used_;  // one for each submission
};

class StreamQueue final : public Queue {
 public:
  explicit StreamQueue(Context& context);
  ~StreamQueue() override;
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  void launch(const Launch& launch, Ticket* ticket) override;
  void fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) override;
  void copy(Address from, Address to, size_t bytes, Ticket* ticket) override;
  void upload(const void* from, Address to, size_t bytes, Ticket* ticket) override;
  void download(Address from, void* to, size_t bytes, Ticket* ticket) override;
  void record(Marker& marker) override;
  void wait(Marker& marker) override;
  void flush() override;
  void synchronize() override;
  Redeemed redeem(Ticket ticket, Timing& timing) override;

 private:
  struct Batch {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    uint64_t value = 0;                              // of the timeline when the batch is done
    std::vector<std::shared_ptr<Timeline>> awaited;  // kept until then
  };
  struct Wait {
    std::shared_ptr<Timeline> timeline;
    uint64_t value = 0;
  };
  struct Place {
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t offset = 0;
  };

  // stream_queue.cc
  void enter();                // throws errors that occurred since the last call
  VkCommandBuffer open();      // the command buffer that records
  void begin(Ticket* ticket);  // begins an operation, after all previous ones
  void end(Ticket* ticket);    // may submit
  void write_end(const QuerySlot& slot);
  void barrier(VkAccessFlags to, VkPipelineStageFlags stages);
  void submit();
  void reclaim();
  uint64_t next_value() const { return submitted_ + 1; }

  // Launches.
  using Descriptors = std::array<VkDescriptorBufferInfo, kMaxBindings>;
  void gather(const DeviceKernel& kernel, const Launch& launch, std::byte* values, Descriptors& descriptors,
              PipelineKey& key);
  VkDescriptorBufferInfo describe(const DeviceKernel& kernel, const Launch& launch, uint32_t parameter,
                                  uint32_t binding);
  void bind(const DeviceKernel& kernel, const Descriptors& descriptors);

  // Copies and fills.
  Place device_place(Address address, size_t bytes);
  std::optional<Place> pinned_place(const void* memory, size_t bytes);
  Staging::Space stage(size_t bytes, Staging& ring);
  Staging::Space stage(size_t bytes) { return stage(bytes, staging_); }
  void copy_buffer(const Place& from, const Place& to, size_t bytes);
  void fill_words(const Place& to, uint32_t word, size_t bytes);
  void fill_pattern(const Place& to, const std::byte* pattern, uint32_t pattern_bytes, size_t bytes);
  void download_staged(const Place& from, std::byte* to, size_t bytes, Ticket* ticket);

  Context& context_;
  SharedQueue& shared_;
  std::shared_ptr<Timeline> timeline_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::unique_ptr<Batch> open_;  // null: no open batch
  std::deque<std::unique_ptr<Batch>> under_way_;
  std::vector<std::unique_ptr<Batch>> free_;
  uint32_t gathered_ = 0;  // operations in the open batch
  uint64_t submitted_ = 0;
  std::vector<Wait> waits_;  // for the next submission
  Staging staging_, argument_staging_;
  std::vector<std::byte> block_;  // the arguments of a launch that are not push constants, while they are gathered
  Tickets tickets_;
  Buffer nothing_;  // used for an empty tensor
};

}  // namespace kymo::device::vulkan
