#include "device/vulkan/stream_queue.h"

#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

constexpr uint32_t kBatch = 32;  // operations gathered into one submission
constexpr uint32_t kAskEvery = 4;
constexpr size_t kMaxPending = 64;  // submissions: with more, the caller waits for the oldest

constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_UNIFORM_READ_BIT |
                                  VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

}  // namespace

StreamQueue::StreamQueue(Context& context)
    : context_(context),
      shared_(context.next_queue()),
      timeline_(std::make_shared<Timeline>(context)),
      staging_(context, *timeline_, Staging::Use::Copies),
      argument_staging_(context, *timeline_, Staging::Use::Arguments),
      tickets_(context),
      device_cache_(context.device_memory()),
      host_cache_(context.host_memory()) {
  auto create = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  create.queueFamilyIndex = context_.physical().family;
  context_.check(context_.api().vkCreateCommandPool(context_.device(), &create, nullptr, &pool_),
                 "vkCreateCommandPool");
  if (context_.physical().null_descriptors) return;
  constexpr size_t kSomeBytes = 256;
  nothing_ = context_.make_device_buffer(kSomeBytes);
}

StreamQueue::~StreamQueue() {
  try {
    submit();
    timeline_->wait(submitted_);
  } catch (const Error&) {
    // A lost device has no work in flight.
  }
  context_.destroy(nothing_);
  context_.api().vkDestroyCommandPool(context_.device(), pool_, nullptr);
}

void StreamQueue::enter() {
  context_.check_validation();
  if (context_.lost()) [[unlikely]]
    throw_result(VK_ERROR_DEVICE_LOST, "an earlier call");
}

VkCommandBuffer StreamQueue::open() {
  if (open_ != nullptr) return open_->commands;
  if (free_.empty()) reclaim();
  if (free_.empty() && under_way_.size() >= kMaxPending) {
    timeline_->wait(under_way_.front()->value);
    reclaim();
  }
  std::unique_ptr<Batch> batch;
  if (!free_.empty()) {
    batch = std::move(free_.back());
    free_.pop_back();
  } else {
    batch = std::make_unique<Batch>(context_);
    auto allocate = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    allocate.commandPool = pool_;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    context_.check(context_.api().vkAllocateCommandBuffers(context_.device(), &allocate, &batch->commands),
                   "vkAllocateCommandBuffers");
  }
  auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  context_.check(context_.api().vkBeginCommandBuffer(batch->commands, &begin), "vkBeginCommandBuffer");
  open_ = std::move(batch);
  return open_->commands;
}

void StreamQueue::reclaim() {
  while (!under_way_.empty() && timeline_->reached(under_way_.front()->value)) {
    std::unique_ptr<Batch> batch = std::move(under_way_.front());
    under_way_.pop_front();
    batch->awaited.clear();
    batch->sets.reset();
    free_.push_back(std::move(batch));
  }
}

void StreamQueue::barrier(VkAccessFlags to, VkPipelineStageFlags stages) {
  auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  memory.dstAccessMask = to;
  context_.api().vkCmdPipelineBarrier(open_->commands, kWork, stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void StreamQueue::begin(Ticket* ticket) {
  const VkCommandBuffer commands = open();
  if (ticket == nullptr) [[likely]]
    return barrier(kAccess, kWork);
  *ticket = 0;
  const auto slot = tickets_.possible() ? tickets_.begin(ticket) : std::nullopt;
  if (!slot) return barrier(kAccess, kWork);
  // Earlier work must be done before the clock is read, not only before the work begins.
  barrier(kAccess, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  context_.api().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, slot->pool, slot->first);
}

void StreamQueue::write_end(const QuerySlot& slot) {
  context_.api().vkCmdWriteTimestamp(open(), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot.pool, slot.first + 1);
}

void StreamQueue::end(Ticket* ticket) {
  if (ticket != nullptr && tickets_.possible()) {
    if (const auto slot = tickets_.end(next_value())) write_end(*slot);
  }
  // The query whether the device is idle costs about as much as the rest, so it is not made every time.
  if (++gathered_ >= kBatch || (gathered_ % kAskEvery == 1 && timeline_->reached(submitted_))) submit();
}

void StreamQueue::submit() {
  if (open_ == nullptr && waits_.empty()) return;
  if (open_ == nullptr) open();  // a submission that only waits
  if (const auto slot = tickets_.end_submission()) write_end(*slot);
  context_.check(context_.api().vkEndCommandBuffer(open_->commands), "vkEndCommandBuffer");
  gathered_ = 0;

  std::vector<VkSemaphore> semaphores;
  std::vector<uint64_t> values;
  for (Wait& wait : waits_) {
    semaphores.push_back(wait.timeline->semaphore());
    values.push_back(wait.value);
    open_->awaited.push_back(std::move(wait.timeline));
  }
  waits_.clear();
  const std::vector<VkPipelineStageFlags> stages(semaphores.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  const uint64_t value = next_value();
  const VkSemaphore own = timeline_->semaphore();
  auto timeline = structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  timeline.waitSemaphoreValueCount = static_cast<uint32_t>(values.size());
  timeline.pWaitSemaphoreValues = values.data();
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.pNext = &timeline;
  info.waitSemaphoreCount = static_cast<uint32_t>(semaphores.size());
  info.pWaitSemaphores = semaphores.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = 1;
  info.pCommandBuffers = &open_->commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &own;

  open_->value = value;
  under_way_.push_back(std::move(open_));
  VkResult result = VK_SUCCESS;
  {
    const std::lock_guard lock(shared_.mutex);
    result = context_.api().vkQueueSubmit(shared_.handle, 1, &info, VK_NULL_HANDLE);
  }
  if (result < 0) {
    // The submission failed, so the timeline will not reach its value.
    free_.push_back(std::move(under_way_.back()));
    under_way_.pop_back();
    context_.check(result, "vkQueueSubmit");
  }
  submitted_ = value;
}

void StreamQueue::record(Marker& marker) {
  enter();
  auto& own = static_cast<TimelineMarker&>(marker);
  if (own.timed()) {
    const QuerySlot slot = own.next_slot();
    context_.api().vkCmdWriteTimestamp(open(), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot.pool, slot.first);
  }
  submit();
  own.recorded(timeline_, submitted_);
}

void StreamQueue::wait(Marker& marker) {
  enter();
  auto& other = static_cast<TimelineMarker&>(marker);
  if (other.timeline() == nullptr || other.timeline() == timeline_) return;
  if (open_ != nullptr) submit();  // earlier work does not wait
  for (Wait& wait : waits_) {
    if (wait.timeline != other.timeline()) continue;
    wait.value = std::max(wait.value, other.value());
    return;
  }
  waits_.push_back({other.timeline(), other.value()});
}

void StreamQueue::flush() {
  enter();
  submit();
}

void StreamQueue::synchronize() {
  enter();
  submit();
  timeline_->wait(submitted_);
  reclaim();
  context_.check_validation();
}

Redeemed StreamQueue::redeem(Ticket ticket, Timing& timing) {
  const uint64_t value = tickets_.value_of(ticket);
  if (value == 0) return Redeemed::Lost;
  if (context_.lost()) {
    tickets_.drop(ticket);
    return Redeemed::Lost;
  }
  if (value > submitted_) submit();
  if (!timeline_->reached(value)) return Redeemed::Pending;
  return tickets_.redeem(ticket, timing);
}

}  // namespace kymo::device::vulkan
