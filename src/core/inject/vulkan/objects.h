// What the layer knows about the instances, devices, queues, command buffers and pipelines of the program.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inject/device_clock.h"
#include "inject/handle_table.h"
#include "inject/vulkan/recorded_commands.h"
#include "kymo/queue_track.h"

namespace kymo::inject::vulkan {

// The layer's part of a submission: two command buffers around one of the program, and memory for the times.
//
//   before   resets the queries of the program's command buffer, writes the time of its begin
//   …        the program's command buffer
//   after    writes the time of the end, copies all times into memory of the host, then the word that they are there
//
// So every submission of a command buffer has its own times, however often it is submitted. The host learns by the word
// that it can read them; no fence of the program is needed. A slot is used again only after a fence of the layer has
// shown that its command buffers are not pending.

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

struct InstanceState {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr get_function = nullptr;  // below the layer
  InstanceFunctions next;
  uint32_t version = VK_API_VERSION_1_0;
  bool excluded = false;  // it is Kymo's own, or the user does not want Vulkan
};

// Something in a queue that has to be written into the trace, in the order in which it was submitted.
struct Pending {
  enum class Kind : uint8_t { Commands, BeginLabel, EndLabel, Mark };

  Kind kind = Kind::Commands;
  TimesSlot* slot = nullptr;
  std::shared_ptr<const RecordedCommands> commands;  // null: recorded while nothing recorded
  std::string text;                                  // of a label, or the name of the command buffer
  uint64_t correlation = 0;
  uint64_t began_ns = 0;   // the call, on CLOCK_MONOTONIC
  uint32_t recording = 0;  // Recorder::recording() at the call; 0: nothing recorded
};

struct DeviceState;

struct QueueState {
  DeviceState* device = nullptr;
  VkQueue handle = VK_NULL_HANDLE;
  uint32_t family = 0, index = 0;
  uint32_t timestamp_bits = 0;  // 0: the queue has no timestamps that the layer can use

  // For the thread that submits: Vulkan allows one at a time.
  SlotPool slots;

  // For the recorder, under its lock.
  struct Open {
    std::string text;
    uint64_t start = 0;
    bool has_start = false;
  };
  QueueTrack track;
  bool has_track = false, has_pair = false;
  std::deque<Pending> pending;
  uint64_t added = 0;        // to `pending`, ever
  uint64_t wanted = 0;       // of these: before the session ends
  std::vector<Open> open;    // labels that the next command buffer may end
  std::vector<Open> labels;  // of the queue
  uint64_t last_end = 0;     // of the work that was written last
  bool has_last_end = false;
};

struct DeviceState {
  VkDevice handle = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  const InstanceState* instance = nullptr;
  PFN_vkGetDeviceProcAddr get_function = nullptr;  // below the layer
  PFN_vkSetDeviceLoaderData set_loader_data = nullptr;
  DeviceFunctions next;
  bool excluded = false;

  std::string name, uuid;
  uint64_t number = 0;
  double period_ns = 1;  // of a tick
  bool is_cpu = false, is_calibrated = false;
  VkPhysicalDeviceMemoryProperties memory{};
  std::vector<VkQueueFamilyProperties> families;
  std::atomic<bool> is_lost{false};
  std::shared_ptr<QueryChunks> chunks = std::make_shared<QueryChunks>();

  std::mutex mutex;  // for the members below
  std::vector<std::unique_ptr<QueueState>> queues;
  std::set<uint64_t> multiview_passes;
  std::map<uint64_t, uint64_t> shaders;                              // modules and the hashes of their code
  std::map<std::pair<VkObjectType, uint64_t>, std::string> names;    // that the program gave
  std::map<uint64_t, std::pair<uint64_t, std::string>> allocations;  // bytes and name of the heap

  // For the recorder, under its lock.
  DeviceClock clock;
  base::ClockPair last_pair;  // error_ns is 0: none yet
  uint64_t last_pair_ns = 0, first_work_ns = 0;
  uint64_t last_start_ticks = 0;

  // Empty: it has none.
  std::string name_of(VkObjectType type, uint64_t object);
  uint64_t ns_of(uint64_t ticks) const noexcept {
    return static_cast<uint64_t>(static_cast<long double>(ticks) * static_cast<long double>(period_ns));
  }
};

// Programs have few pipelines, and the same ones again after a restart of the device: their names stay.
struct PipelineState {
  std::atomic<Site*> work{nullptr};  // of its dispatches or draws
};

struct CommandBufferState {
  DeviceState* device = nullptr;
  VkCommandBuffer handle = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  uint32_t timestamp_bits = 0;  // of the queues to which it can be submitted
  bool is_secondary = false;

  // Since the program began it.
  std::shared_ptr<RecordedCommands> commands;  // null: nothing recorded then
  bool is_shared = false;     // secondary, and may be in several command buffers at once: it has no times of its own
  bool suspends = false;      // a render pass goes on in the next command buffer
  bool is_multiview = false;  // in a render pass in which a timestamp takes several queries
  bool only_secondaries = false;  // in a render pass that allows no commands but secondary command buffers
  PipelineState* compute = nullptr;
  PipelineState* graphics = nullptr;
  PipelineState* rays = nullptr;
};

struct PoolState {
  uint32_t family = 0;
  bool is_protected = false;
  std::vector<VkCommandBuffer> buffers;
};

class Objects {
 public:
  void add(std::unique_ptr<InstanceState> state);
  InstanceState* instance(const void* key) const noexcept { return instances_.find(key); }
  void remove_instance(const void* key) noexcept;

  DeviceState& add(std::unique_ptr<DeviceState> state);
  DeviceState* device(const void* key) const noexcept { return devices_.find(key); }
  void remove_device(const void* key) noexcept;

  QueueState* queue(VkQueue handle) const noexcept { return queues_.find(handle); }
  void add_queue(DeviceState& device, VkQueue handle, uint32_t family, uint32_t index);

  void add_pool(VkCommandPool pool, uint32_t family, bool is_protected);
  void remove_pool(VkCommandPool pool) noexcept;
  void add_buffers(DeviceState& device, const VkCommandBufferAllocateInfo& info, const VkCommandBuffer* buffers);
  void remove_buffers(VkCommandPool pool, uint32_t count, const VkCommandBuffer* buffers) noexcept;
  CommandBufferState* buffer(VkCommandBuffer handle) const noexcept { return buffers_.find(handle); }

  // `pipeline` runs as this from now on. The category is "kernel" or "draw".
  void name_pipeline(VkPipeline pipeline, std::string_view name, const char* category);
  PipelineState* pipeline(VkPipeline handle) const noexcept {
    return pipelines_.find(reinterpret_cast<const void*>(handle));
  }
  void remove_pipeline(VkPipeline handle) noexcept;

 private:
  struct NamedSite {
    std::string name;
    Site site;
    NamedSite(std::string text, const char* category) : name(std::move(text)), site(Label(name, category)) {}
  };
  Site& site_of(std::string_view name, const char* category);

  std::mutex mutex_;  // for what has no lock of its own
  HandleTable<InstanceState> instances_;
  HandleTable<DeviceState> devices_;
  HandleTable<QueueState> queues_;
  HandleTable<CommandBufferState> buffers_;
  HandleTable<PipelineState> pipelines_;
  std::map<VkCommandPool, PoolState> pools_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<NamedSite>> sites_;
  uint64_t device_count_ = 0;
};

// Never destroyed. A forked child has its parent's, but Vulkan does not allow it to use them.
Objects& objects() noexcept;

}  // namespace kymo::inject::vulkan
