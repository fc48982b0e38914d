// The layer's part of a submission: two command buffers around one of the program, and memory for the times.
//
//   before   resets the queries of the program's command buffer, writes the time of its begin
//   …        the program's command buffer
//   after    writes the time of the end, copies all times into memory of the host, then the word that they are there
//
// So every submission of a command buffer has its own times, however often it is submitted. The host learns by the word
// that it can read them; no fence of the program is needed. A slot is used again only after a fence of the layer has
// shown that its command buffers are not pending.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "inject/vulkan/recorded_commands.h"

namespace kymo::inject::vulkan {

struct DeviceState;
struct QueueState;

struct TimesSlot {
  static constexpr uint32_t kOwnTimes = 2;  // begin and end of the command buffer

  VkCommandBuffer before = VK_NULL_HANDLE, after = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t* times = nullptr;  // the word, then the times; mapped, coherent
  uint32_t capacity = 0;      // in times

  std::shared_ptr<const RecordedCommands> commands;  // what `before` and `after` were made for
  bool is_prepared = false;
  uint64_t number = 0;                 // of its submission in the queue
  std::atomic<bool> is_written{true};  // into the trace, or counted as lost. Set by the recorder

  bool has_times() const noexcept { return std::atomic_ref<uint64_t>(times[0]).load(std::memory_order_acquire) != 0; }
  uint64_t time(uint32_t index) const noexcept {
    return std::atomic_ref<uint64_t>(times[1 + index]).load(std::memory_order_relaxed);
  }
};

// The slots of a queue. For the thread that submits to the queue.
class SlotPool {
 public:
  // Null: the driver has no memory, or too many submissions are pending. The slot's command buffers are ready.
  TimesSlot* take(QueueState& queue, std::shared_ptr<const RecordedCommands> commands) noexcept;
  // The slot is in the queue now, or the driver refused it.
  void submitted(TimesSlot& slot) noexcept { slot.number = ++submissions_; }
  void refused(TimesSlot& slot) noexcept { slot.is_written = true; }
  // To be called after each submission: now and then submits a fence, to learn which slots are not pending.
  void mark(QueueState& queue) noexcept;
  // The queue is idle.
  void idle() noexcept { completed_ = submissions_; }
  // The device is destroyed.
  void close(DeviceState& device) noexcept;

 private:
  struct Mark {
    VkFence fence;
    uint64_t number;
  };
  static constexpr uint64_t kSubmissionsBetweenMarks = 16;
  static constexpr size_t kMaxSlots = 512;

  void look_at_marks(DeviceState& device) noexcept;
  TimesSlot* make_slot(QueueState& queue);
  bool make_room(DeviceState& device, TimesSlot& slot, uint32_t times);
  bool prepare(DeviceState& device, TimesSlot& slot, std::shared_ptr<const RecordedCommands> commands);

  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::deque<std::unique_ptr<TimesSlot>> slots_;
  size_t next_ = 0;
  uint64_t submissions_ = 0, marked_ = 0, completed_ = 0;
  std::deque<Mark> marks_;
  std::vector<VkFence> fences_;  // unused
};

}  // namespace kymo::inject::vulkan
