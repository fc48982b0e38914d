#include "device/vulkan/stream_queue.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "device/vulkan/grid.h"
#include "device/vulkan/program.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {
constexpr uint64_t kStagingAlignment = 64;
}

Staging::~Staging() { context_.destroy(buffer_); }

void Staging::allocate() {
  const bool for_copies = use_ == Use::Copies;
  buffer_ = for_copies ? context_.make_host_buffer(kBytes) : context_.make_argument_buffer(kBytes);
  if (buffer_.handle == VK_NULL_HANDLE)
    throw DeviceError(for_copies ? "vulkan: no host memory left for copies (4 MiB per stream)"
                                 : "vulkan: no memory left for the arguments of kernels (4 MiB per stream)");
}

std::optional<Staging::Space> Staging::take(size_t bytes, uint64_t value) {
  if (buffer_.handle == VK_NULL_HANDLE) allocate();
  uint64_t begin = (head_ + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
  if (begin % kBytes + bytes > kBytes) begin = (begin / kBytes + 1) * kBytes;  // it does not wrap
  while (begin + bytes - tail_ > kBytes) {
    if (!timeline_.reached(used_.front().value)) return std::nullopt;
    tail_ = used_.front().end;
    used_.pop_front();
  }
  head_ = begin + bytes;
  if (used_.empty() || used_.back().value != value) used_.push_back({head_, value});
  used_.back().end = head_;
  const uint64_t offset = begin % kBytes;
  return Space{buffer_.mapped + offset, buffer_.handle, offset, buffer_.address + offset};
}

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
      tickets_(context) {
  auto create = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  create.queueFamilyIndex = context_.physical().family;
  context_.check(context_.api().vkCreateCommandPool(context_.device(), &create, nullptr, &pool_),
                 "vkCreateCommandPool");
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
    batch = std::make_unique<Batch>();
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

// ---- Launches ------------------------------------------------------------------------------------------------------
// Arguments become push constants, a block in memory or descriptors, and a grid becomes dispatches.

namespace {

std::string_view kernel_name(const Launch& launch) { return launch.program->kernels()[launch.kernel].name; }

void check_grid(const Launch& launch) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  const Extent& threads = launch.threads;
  if (threads.x <= kMax && threads.y <= kMax && threads.z <= kMax) [[likely]]
    return;
  throw InvalidArgument(base::format("{}: {} x {} x {} threads are too many: the max on Vulkan is {} in each dimension",
                                     kernel_name(launch), threads.x, threads.y, threads.z, kMax));
}

}  // namespace

VkDescriptorBufferInfo StreamQueue::describe(const DeviceKernel& kernel, const Launch& launch, uint32_t parameter,
                                             uint32_t binding) {
  const Argument& argument = launch.arguments[parameter];
  if (argument.address == 0) return {nothing_.handle, 0, 4};
  const auto range = context_.device_memory().find(argument.address);
  if (!range)
    throw DeviceError(base::format("vulkan: {}: argument {} is at {:#x}, which is not memory of this device",
                                   kernel_name(launch), parameter, argument.address));
  const VkPhysicalDeviceLimits& limits = context_.physical().properties.limits;
  const bool uniform = kernel.bindings()[binding] == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
  const uint64_t alignment = uniform ? limits.minUniformBufferOffsetAlignment : limits.minStorageBufferOffsetAlignment;
  const uint64_t longest = uniform ? limits.maxUniformBufferRange : limits.maxStorageBufferRange;
  const uint64_t offset = range->offset_of(argument.address);
  const uint64_t left = range->end - argument.address;
  const uint64_t bytes = argument.extent == 0 ? left : std::min<uint64_t>(argument.extent, left);
  if ((offset & (alignment - 1)) != 0)
    throw InvalidArgument(
        base::format("{}: argument {} starts at byte {} of its memory, but on this device a binding must start at a "
                     "multiple of {}: pass "
                     "a contiguous copy, or use a buffer_reference in the kernel",
                     kernel_name(launch), parameter, offset, alignment));
  if (bytes > longest)
    throw InvalidArgument(
        base::format("{}: argument {} has {} bytes, but the max of a binding on this device is {}: use a "
                     "buffer_reference in the kernel",
                     kernel_name(launch), parameter, bytes, longest));
  return {range->buffer, offset, bytes};
}

void StreamQueue::gather(const DeviceKernel& kernel, const Launch& launch, std::byte* values, Descriptors& descriptors,
                         PipelineKey& key) {
  using Kind = DeviceKernel::Slot::Kind;
  const auto slots = kernel.slots();
  uint64_t shared_bytes = 0;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const DeviceKernel::Slot& slot = slots[i];
    const Argument& argument = launch.arguments[i];
    if (slot.kind == Kind::Descriptor) {
      descriptors[slot.place] = describe(kernel, launch, i, slot.place);
    } else if (slot.kind == Kind::Shared) {
      key.shared[slot.place] = static_cast<uint32_t>((uint64_t{argument.bytes} + slot.bytes - 1) / slot.bytes);
      shared_bytes += argument.bytes;
    } else if (argument.data == nullptr) {
      std::memcpy(values + slot.place, &argument.address, sizeof argument.address);
    } else {
      std::memcpy(values + slot.place, argument.data, std::min(argument.bytes, slot.bytes));
    }
  }
  if (const auto offset = kernel.grid_offset()) {
    const Grid grid = grid_of(launch);
    std::memcpy(values + *offset, &grid, sizeof grid.threads + sizeof grid.group);
  }
  const uint64_t max = context_.physical().properties.limits.maxComputeSharedMemorySize;
  if (shared_bytes != 0 && shared_bytes + kernel.group_memory() > max) {
    throw InvalidArgument(
        base::format("{}: {} bytes of group memory, plus {} that the kernel declares itself; this device has only {}",
                     kernel_name(launch), shared_bytes, kernel.group_memory(), max));
  }
}

void StreamQueue::bind(const DeviceKernel& kernel, const Descriptors& descriptors) {
  const auto bindings = kernel.bindings();
  std::array<VkWriteDescriptorSet, kMaxBindings> writes;
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    writes[i] = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = bindings[i];
    writes[i].pBufferInfo = &descriptors[i];
  }
  context_.api().vkCmdPushDescriptorSetKHR(open_->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0,
                                           static_cast<uint32_t>(bindings.size()), writes.data());
}

void StreamQueue::launch(const Launch& launch, Ticket* ticket) {
  enter();
  check_grid(launch);
  const DeviceKernel& kernel = static_cast<const DeviceProgram*>(launch.program)->kernel(launch.kernel);
  std::array<std::byte, kMaxPushBytes> constants;
  std::memset(constants.data(), 0, kernel.push_bytes());
  Descriptors descriptors;
  PipelineKey key;
  block_.assign(kernel.block_bytes(), std::byte{});
  gather(kernel, launch, block_.empty() ? constants.data() : block_.data(), descriptors, key);

  const Extent& group = kernel.any_group() ? launch.group : kernel.group();
  const uint32_t* limits = context_.physical().properties.limits.maxComputeWorkGroupCount;
  const bool visible = kernel.groups_visible();
  const Axis x(launch.threads.x, group.x, limits[0], visible), y(launch.threads.y, group.y, limits[1], visible),
      z(launch.threads.z, group.z, limits[2], visible);

  if (!block_.empty()) {
    // In use until the submission that begin() opens, or continues, is done.
    const Staging::Space space = stage(block_.size(), argument_staging_);
    std::memcpy(space.host, block_.data(), block_.size());
    std::memcpy(constants.data(), &space.address, sizeof space.address);
  }
  begin(ticket);
  const DeviceApi& api = context_.api();
  const VkCommandBuffer commands = open_->commands;
  if (!kernel.bindings().empty()) bind(kernel, descriptors);
  const spirv::Patched& patched = kernel.patched();
  VkPipeline bound = VK_NULL_HANDLE;
  bool first = true;
  for_each_dispatch(x, y, z, [&](const AxisPiece& px, const AxisPiece& py, const AxisPiece& pz) {
    std::array<uint32_t, kMaxTailWords> tail{};
    uint32_t* next = tail.data();
    const auto append = [&](bool asked, uint32_t a, uint32_t b, uint32_t c) {
      if (!asked) return;
      *next++ = a;
      *next++ = b;
      *next++ = c;
    };
    append(patched.offset, px.offset, py.offset, pz.offset);
    append(patched.base, px.base, py.base, pz.base);
    append(patched.groups, x.groups(), y.groups(), z.groups());

    key.group = {px.size, py.size, pz.size};
    if (const VkPipeline pipeline = kernel.pipeline(key); pipeline != bound) {
      api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bound = pipeline;
    }
    const uint32_t tail_bytes = patched.tail_words * static_cast<uint32_t>(sizeof(uint32_t));
    if (tail_bytes != 0) std::memcpy(constants.data() + patched.tail_offset, tail.data(), tail_bytes);
    if (first && kernel.push_bytes() != 0)
      api.vkCmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel.push_bytes(),
                             constants.data());
    else if (tail_bytes != 0)
      api.vkCmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, patched.tail_offset, tail_bytes,
                             tail.data());
    first = false;
    api.vkCmdDispatch(commands, px.count, py.count, pz.count);
  });
  end(ticket);
}

// ---- Copies and fills ----------------------------------------------------------------------------------------------

namespace {

constexpr size_t kLargestCopy = size_t{1} << 30;    // some drivers count a region's bytes in 31 bits
constexpr size_t kPatternBytes = size_t{64} << 10;  // written by the host; the rest is copied from it
constexpr size_t kDownloadsUnderWay = 3;            // fewer than fill the staging ring: it must not wrap

constexpr size_t kWord = sizeof(uint32_t);

}  // namespace

StreamQueue::Place StreamQueue::device_place(Address address, size_t bytes) {
  const auto range = context_.device_memory().find(address);
  if (!range || bytes > range->end - address)
    throw DeviceError(base::format("vulkan: {} bytes at {:#x} are not memory of this device", bytes, address));
  return {range->buffer, range->offset_of(address)};
}

std::optional<StreamQueue::Place> StreamQueue::pinned_place(const void* memory, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto range = context_.host_memory().find(address);
  if (!range || bytes > range->end - address) return std::nullopt;
  return Place{range->buffer, range->offset_of(address)};
}

Staging::Space StreamQueue::stage(size_t bytes, Staging& ring) {
  for (;;) {
    if (const auto space = ring.take(bytes, next_value())) return *space;
    const uint64_t oldest = ring.oldest();
    if (oldest > submitted_) submit();
    timeline_->wait(oldest);
  }
}

void StreamQueue::copy_buffer(const Place& from, const Place& to, size_t bytes) {
  const VkCommandBuffer commands = open();
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kLargestCopy);
    const VkBufferCopy region{from.offset + done, to.offset + done, part};
    context_.api().vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
    done += part;
  }
}

void StreamQueue::copy(Address from, Address to, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place source = bytes == 0 ? Place{} : device_place(from, bytes);
  const Place target = bytes == 0 ? Place{} : device_place(to, bytes);
  begin(ticket);
  copy_buffer(source, target, bytes);
  end(ticket);
}

void StreamQueue::upload(const void* from, Address to, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place target = bytes == 0 ? Place{} : device_place(to, bytes);
  const std::optional<Place> pinned = bytes == 0 ? std::nullopt : pinned_place(from, bytes);
  begin(ticket);
  if (pinned) {
    copy_buffer(*pinned, target, bytes);
    return end(ticket);
  }
  const auto* source = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, Staging::kLargest);
    const Staging::Space space = stage(part);
    std::memcpy(space.host, source + done, part);
    copy_buffer({space.buffer, space.offset}, {target.buffer, target.offset + done}, part);
    done += part;
    if (done < bytes) submit();  // the device copies this part while the next is being written
  }
  end(ticket);
}

void StreamQueue::download(Address from, void* to, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place source = bytes == 0 ? Place{} : device_place(from, bytes);
  const std::optional<Place> pinned = bytes == 0 ? std::nullopt : pinned_place(to, bytes);
  begin(ticket);
  if (pinned || bytes == 0) {
    if (pinned) copy_buffer(source, *pinned, bytes);
    barrier(VK_ACCESS_HOST_READ_BIT, VK_PIPELINE_STAGE_HOST_BIT);
    return end(ticket);
  }
  download_staged(source, static_cast<std::byte*>(to), bytes, ticket);
}

void StreamQueue::download_staged(const Place& from, std::byte* to, size_t bytes, Ticket* ticket) {
  struct Part {
    const std::byte* host;
    size_t bytes;
    uint64_t value;
  };
  std::array<Part, kDownloadsUnderWay> parts;
  size_t queued = 0, copied = 0, first = 0, count = 0;
  while (copied < bytes) {
    while (queued < bytes && count < parts.size()) {
      const size_t part = std::min(bytes - queued, Staging::kLargest);
      const Staging::Space space = stage(part);
      copy_buffer({from.buffer, from.offset + queued}, {space.buffer, space.offset}, part);
      barrier(VK_ACCESS_HOST_READ_BIT, VK_PIPELINE_STAGE_HOST_BIT);
      queued += part;
      if (queued == bytes) end(ticket);
      submit();
      parts[(first + count++) % parts.size()] = {space.host, part, submitted_};
    }
    const Part& part = parts[first];
    timeline_->wait(part.value);
    std::memcpy(to + copied, part.host, part.bytes);
    copied += part.bytes;
    first = (first + 1) % parts.size();
    --count;
  }
}

void StreamQueue::fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) {
  enter();
  if (bytes == 0 && ticket == nullptr) return;
  const Place target = bytes == 0 ? Place{} : device_place(to, bytes);
  std::array<std::byte, 8> block;
  for (size_t i = 0; i < block.size(); i += pattern_bytes) std::memcpy(block.data() + i, pattern, pattern_bytes);
  std::array<uint32_t, 2> words;
  std::memcpy(words.data(), block.data(), block.size());
  begin(ticket);
  if (bytes != 0) {
    if (words[0] == words[1])
      fill_words(target, words[0], bytes);
    else
      fill_pattern(target, block.data(), pattern_bytes, bytes);
  }
  end(ticket);
}

// vkCmdFillBuffer takes whole, aligned words. The bytes before and after them are copied; they begin and end with a
// whole pattern.
void StreamQueue::fill_words(const Place& to, uint32_t word, size_t bytes) {
  const size_t head = std::min<size_t>((kWord - to.offset % kWord) % kWord, bytes);
  const size_t middle = (bytes - head) / kWord * kWord, tail = bytes - head - middle;
  if (head + tail != 0) {
    const Staging::Space space = stage(kWord);
    std::memcpy(space.host, &word, kWord);
    copy_buffer({space.buffer, space.offset}, to, head);
    copy_buffer({space.buffer, space.offset}, {to.buffer, to.offset + head + middle}, tail);
  }
  if (middle != 0) context_.api().vkCmdFillBuffer(open(), to.buffer, to.offset + head, middle, word);
}

// The host writes the first part; the filled part is then copied after itself, twice as much each time.
void StreamQueue::fill_pattern(const Place& to, const std::byte* pattern, uint32_t pattern_bytes, size_t bytes) {
  size_t done = std::min(bytes, kPatternBytes);
  const Staging::Space space = stage(done);
  for (size_t i = 0; i < done; i += pattern_bytes) std::memcpy(space.host + i, pattern, pattern_bytes);
  copy_buffer({space.buffer, space.offset}, to, done);
  while (done < bytes) {
    const size_t part = std::min(done, bytes - done);
    barrier(VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT);
    copy_buffer(to, {to.buffer, to.offset + done}, part);
    done += part;
  }
}

}  // namespace kymo::device::vulkan
