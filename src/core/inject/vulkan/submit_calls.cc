// Submissions: around each command buffer of the program, the layer's own ones that take its times.
#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "base/clock.h"
#include "inject/vulkan/calls.h"
#include "kymo/queue.h"

namespace kymo::inject::vulkan {
namespace {

constinit Site submit_site(Label("submit", "device"));

// The slots of one call, until the driver has accepted it.
class Slots {
 public:
  explicit Slots(QueueState& queue) : queue_(queue) {}
  ~Slots() {
    for (const Taken& one : taken_) queue_.slots.refused(*one.slot);
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Null: this command buffer gets no times.
  TimesSlot* take(VkCommandBuffer handle) {
    CommandBufferState* buffer = objects().buffer(handle);
    std::shared_ptr<const RecordedCommands> commands = buffer != nullptr ? buffer->commands : nullptr;
    taken_.reserve(taken_.size() + 1);
    TimesSlot* slot = nullptr;
    if (commands == nullptr || !recorder().is_elsewhere(*commands, queue_)) slot = queue_.slots.take(queue_, commands);
    if (slot == nullptr) {
      ++lost_;
      return nullptr;
    }
    taken_.push_back({slot, std::move(commands), handle});
    return slot;
  }

  // `recording`: of the call; 0: nothing recorded.
  void accepted(uint32_t recording, uint64_t began_ns, uint64_t correlation) {
    for (const Taken& one : taken_) queue_.slots.submitted(*one.slot);
    for (Taken& one : taken_) {
      Pending pending;
      pending.slot = one.slot;
      pending.commands = std::move(one.commands);
      pending.text = queue_.device->name_of(VK_OBJECT_TYPE_COMMAND_BUFFER, number_of(one.handle));
      pending.correlation = correlation;
      pending.began_ns = began_ns;
      pending.recording = recording;
      recorder().add(queue_, std::move(pending));
    }
    taken_.clear();
    if (recording != 0 && lost_ != 0) recorder().lose(queue_, lost_);
    queue_.slots.mark(queue_);
  }

 private:
  struct Taken {
    TimesSlot* slot;
    std::shared_ptr<const RecordedCommands> commands;
    VkCommandBuffer handle;
  };
  QueueState& queue_;
  std::vector<Taken> taken_;
  uint64_t lost_ = 0;
};

bool has_queries(VkCommandBuffer handle) noexcept {
  const CommandBufferState* buffer = objects().buffer(handle);
  return buffer != nullptr && buffer->commands != nullptr && buffer->commands->all_query_count() != 0;
}

// ---- The two forms of a submission

std::span<const VkCommandBuffer> buffers_of(const VkSubmitInfo& info) noexcept {
  return {info.pCommandBuffers, info.commandBufferCount};
}
std::span<const VkCommandBufferSubmitInfo> buffers_of(const VkSubmitInfo2& info) noexcept {
  return {info.pCommandBufferInfos, info.commandBufferInfoCount};
}

VkCommandBuffer handle_of(VkCommandBuffer buffer) noexcept { return buffer; }
VkCommandBuffer handle_of(const VkCommandBufferSubmitInfo& buffer) noexcept { return buffer.commandBuffer; }

// A command buffer of the layer beside one of the program.
VkCommandBuffer own_beside(VkCommandBuffer, VkCommandBuffer own) noexcept { return own; }
VkCommandBufferSubmitInfo own_beside(const VkCommandBufferSubmitInfo& one, VkCommandBuffer own) noexcept {
  auto info = made<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
  info.commandBuffer = own;
  info.deviceMask = one.deviceMask;
  return info;
}

void set_buffers(VkSubmitInfo& info, std::span<const VkCommandBuffer> all) noexcept {
  info.commandBufferCount = static_cast<uint32_t>(all.size());
  info.pCommandBuffers = all.data();
}
void set_buffers(VkSubmitInfo2& info, std::span<const VkCommandBufferSubmitInfo> all) noexcept {
  info.commandBufferInfoCount = static_cast<uint32_t>(all.size());
  info.pCommandBufferInfos = all.data();
}

bool is_ordinary(const VkSubmitInfo& info) noexcept {
  const auto* secret = find_in_chain<VkProtectedSubmitInfo>(info.pNext, VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO);
  return (secret == nullptr || secret->protectedSubmit == VK_FALSE) &&
         find_in_chain<VkBaseInStructure>(info.pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO) == nullptr;
}
bool is_ordinary(const VkSubmitInfo2& info) noexcept { return (info.flags & VK_SUBMIT_PROTECTED_BIT) == 0; }

// ---- Both forms

// The program's batches with the layer's command buffers.
template <class Info>
struct Batches {
  using Buffer = typename decltype(buffers_of(std::declval<const Info&>()))::value_type;
  std::vector<Info> infos;
  std::vector<std::vector<Buffer>> buffers;

  void add(const Info& info, Slots& slots) {
    const auto given = buffers_of(info);
    infos.push_back(info);
    std::vector<Buffer>& all = buffers.emplace_back();
    all.reserve(3 * given.size());
    // True if the layer may add command buffers to it.
    const bool is_open = is_ordinary(info) && std::ranges::none_of(given, [](const Buffer& one) {
                           const CommandBufferState* buffer = objects().buffer(handle_of(one));
                           return buffer != nullptr && buffer->suspends;
                         });
    for (const Buffer& one : given) {
      const TimesSlot* slot = is_open ? slots.take(handle_of(one)) : nullptr;
      if (slot != nullptr) all.push_back(own_beside(one, slot->before));
      all.push_back(one);
      if (slot != nullptr) all.push_back(own_beside(one, slot->after));
    }
    set_buffers(infos.back(), all);
  }
};

// One that was recorded during a recording writes queries also afterwards: they must be reset.
template <class Info>
bool needs_slots(uint32_t count, const Info* infos, bool is_recording) noexcept {
  for (uint32_t i = 0; i < count; ++i)
    for (const auto& one : buffers_of(infos[i]))
      if (is_recording || has_queries(handle_of(one))) return true;
  return false;
}

template <class Info>
uint64_t count_buffers(uint32_t count, const Info* infos) noexcept {
  uint64_t buffers = 0;
  for (uint32_t i = 0; i < count; ++i) buffers += buffers_of(infos[i]).size();
  return buffers;
}

// `pass(count, infos)` calls the driver.
template <class Info, class Pass>
VkResult submit_all(VkQueue handle, uint32_t count, const Info* infos, Pass pass) noexcept {
  const bool is_recording = kymo::detail::recording();
  QueueState* queue = objects().queue(handle);
  DeviceState& device = queue != nullptr ? *queue->device : device_of(handle);
  const uint64_t began = is_recording ? kymo_ticks() : 0;
  const uint64_t began_ns = is_recording ? base::monotonic_ns() : 0;
  const uint64_t correlation = is_recording ? kymo_next_correlation() : 0;
  const uint32_t number = is_recording ? recorder().recording() : 0;
  VkResult result = VK_SUCCESS;
  bool is_done = false;
  if (queue != nullptr && queue->timestamp_bits != 0 && needs_slots(count, infos, is_recording)) {
    try {
      Slots slots(*queue);
      Batches<Info> batches;
      batches.infos.reserve(count);
      batches.buffers.reserve(count);
      for (uint32_t i = 0; i < count; ++i) batches.add(infos[i], slots);
      is_done = true;
      result = pass(count, batches.infos.data());
      if (result == VK_SUCCESS) slots.accepted(number, began_ns, correlation);
    } catch (const std::bad_alloc&) {  // it is submitted without times
    }
  }
  if (!is_done) result = pass(count, infos);
  if (is_recording && result == VK_SUCCESS) {
    const kymo_arg buffers = kymo::arg("command_buffers", count_buffers(count, infos));
    kymo_span_at(&submit_site, &buffers, 1, began, correlation);
    count_call();
  }
  return noted(device, result);
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                            VkFence fence) noexcept {
  return submit_all(queue, count, infos, [&](uint32_t all, const VkSubmitInfo* with) {
    return device_of(queue).next.QueueSubmit(queue, all, with, fence);
  });
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit_2(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos,
                                              VkFence fence) noexcept {
  return submit_all(queue, count, infos, [&](uint32_t all, const VkSubmitInfo2* with) {
    return device_of(queue).next.QueueSubmit2(queue, all, with, fence);
  });
}

}  // namespace

KYMO_VULKAN_LAYER(QueueSubmit) = queue_submit;
KYMO_VULKAN_LAYER(QueueSubmit2) = queue_submit_2;

}  // namespace kymo::inject::vulkan
