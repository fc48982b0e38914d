#include "device/vulkan/context.h"

#include <iterator>
#include <utility>
#include <vector>

#include "kymo/error.h"

namespace kymo::device::vulkan {

void AddressTable::add(const AddressRange& range) {
  const std::unique_lock lock(mutex_);
  ranges_[range.begin] = range;
  count_ = ranges_.size();
}

std::optional<AddressRange> AddressTable::remove(uint64_t begin) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return std::nullopt;
  const AddressRange range = found->second;
  ranges_.erase(found);
  count_ = ranges_.size();
  return range;
}

std::optional<AddressRange> AddressTable::find(uint64_t address) const {
  if (empty()) return std::nullopt;
  const std::shared_lock lock(mutex_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  --after;
  return after->second.holds(address) ? std::optional(after->second) : std::nullopt;
}

std::optional<AddressRange> AddressTable::find_mapped(uintptr_t begin, uintptr_t end) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [address, range] : ranges_) {
    const auto mapped = reinterpret_cast<uintptr_t>(range.mapped);
    if (mapped != 0 && begin >= mapped && end <= mapped + (range.end - range.begin)) return range;
  }
  return std::nullopt;
}

std::map<uint64_t, AddressRange> AddressTable::take_all() {
  const std::unique_lock lock(mutex_);
  count_ = 0;
  return std::exchange(ranges_, {});
}

namespace {

constexpr VkBufferUsageFlags kDeviceUsage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                            VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr auto kHostHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
// Memory that the host writes without further calls.
constexpr VkMemoryPropertyFlags kWritten = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

}  // namespace

Context::Context(std::shared_ptr<Instance> instance, const PhysicalDevice& physical)
    : instance_(std::move(instance)), physical_(physical) {
  physical_.features.link();
  const std::vector<float> priorities(physical_.queue_count, 1.0f);
  auto queues = structure<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queues.queueFamilyIndex = physical_.family;
  queues.queueCount = physical_.queue_count;
  queues.pQueuePriorities = priorities.data();
  auto create = structure<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.pNext = &physical_.features.core;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queues;
  create.enabledExtensionCount = static_cast<uint32_t>(physical_.extensions.size());
  create.ppEnabledExtensionNames = physical_.extensions.data();
  check(instance_->api().vkCreateDevice(physical_.handle, &create, nullptr, &device_), "vkCreateDevice");
  api_ = device_functions(instance_->api(), device_);
  for (uint32_t i = 0; i < physical_.queue_count; ++i)
    api_.vkGetDeviceQueue(device_, physical_.family, i, &queues_.emplace_back().handle);
}

Context::~Context() {
  api_.vkDeviceWaitIdle(device_);
  for (AddressTable* table : {&device_memory_, &host_memory_})
    for (const auto& [begin, range] : table->take_all()) destroy(range);
  api_.vkDestroyDevice(device_, nullptr);
}

void Context::fail(VkResult result, const char* call) {
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  throw_result(result, call);
}

SharedQueue& Context::next_queue() {
  return queues_[next_queue_.fetch_add(1, std::memory_order_relaxed) % queues_.size()];
}

Buffer Context::make_buffer(size_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags needed, void* host, uint32_t host_types) {
  Buffer buffer;
  buffer.mapped = static_cast<std::byte*>(host);
  buffer.bytes = bytes;
  auto external = structure<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  external.handleTypes = kHostHandle;
  auto create = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  if (host != nullptr) create.pNext = &external;
  create.size = bytes;
  create.usage = usage;
  if (api_.vkCreateBuffer(device_, &create, nullptr, &buffer.handle) < 0) return {};

  VkMemoryRequirements requirements;
  api_.vkGetBufferMemoryRequirements(device_, buffer.handle, &requirements);
  const uint32_t allowed = host != nullptr ? requirements.memoryTypeBits & host_types : requirements.memoryTypeBits;
  const auto type = physical_.memory_type(allowed, wanted, needed);
  auto dedicated = structure<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
  dedicated.buffer = buffer.handle;
  auto import = structure<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  import.handleType = kHostHandle;
  import.pHostPointer = host;
  auto flags = structure<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.pNext = host != nullptr ? static_cast<const void*>(&import) : &dedicated;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  auto allocate = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  const bool addressed = (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
  allocate.pNext = addressed ? static_cast<const void*>(&flags) : flags.pNext;
  allocate.allocationSize = host != nullptr ? bytes : requirements.size;
  allocate.memoryTypeIndex = type.value_or(0);
  const uint64_t max = host != nullptr ? bytes : physical_.v11.maxMemoryAllocationSize;
  if (!type || requirements.size > max || api_.vkAllocateMemory(device_, &allocate, nullptr, &buffer.memory) < 0 ||
      api_.vkBindBufferMemory(device_, buffer.handle, buffer.memory, 0) < 0) {
    destroy(buffer);
    return {};
  }
  if (addressed) {
    if (host == nullptr) map_if_shared(buffer, *type);
    auto info = structure<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
    info.buffer = buffer.handle;
    buffer.address = api_.vkGetBufferDeviceAddress(device_, &info);
  }
  return buffer;
}

// Device memory that is the host's stays mapped, so that host code can use it without a copy.
void Context::map_if_shared(Buffer& buffer, uint32_t memory_type) {
  const VkMemoryPropertyFlags flags = physical_.memory.memoryTypes[memory_type].propertyFlags;
  if (physical_.unified() && (flags & kWritten) == kWritten) map(buffer);
}

bool Context::map(Buffer& buffer) {
  void* mapped = nullptr;
  if (api_.vkMapMemory(device_, buffer.memory, 0, VK_WHOLE_SIZE, 0, &mapped) < 0) return false;
  buffer.mapped = static_cast<std::byte*>(mapped);
  return true;
}

Buffer Context::make_device_buffer(size_t bytes) {
  return make_buffer(bytes, kDeviceUsage, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0);
}

Buffer Context::import_host_buffer(void* memory, size_t bytes) {
  auto pointer = structure<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
  if (api_.vkGetMemoryHostPointerPropertiesEXT == nullptr ||
      api_.vkGetMemoryHostPointerPropertiesEXT(device_, kHostHandle, memory, &pointer) < 0)
    return {};
  return make_buffer(bytes, kDeviceUsage, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                     memory, pointer.memoryTypeBits);
}

Buffer Context::make_host_buffer(size_t bytes) {
  Buffer buffer = make_buffer(bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              kWritten | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kWritten);
  if (buffer.handle == VK_NULL_HANDLE || map(buffer)) return buffer;
  destroy(buffer);
  return {};
}

Buffer Context::make_argument_buffer(size_t bytes) {
  Buffer buffer = make_buffer(bytes, kDeviceUsage, kWritten | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kWritten);
  // Only a small part of the device's memory may be open to the host, and in use.
  if (buffer.handle == VK_NULL_HANDLE) buffer = make_buffer(bytes, kDeviceUsage, kWritten, kWritten);
  if (buffer.handle == VK_NULL_HANDLE) return buffer;
  if (buffer.mapped != nullptr || map(buffer)) return buffer;
  destroy(buffer);
  return {};
}

void Context::destroy(VkBuffer buffer, VkDeviceMemory memory) noexcept {
  if (buffer != VK_NULL_HANDLE) api_.vkDestroyBuffer(device_, buffer, nullptr);
  if (memory != VK_NULL_HANDLE) api_.vkFreeMemory(device_, memory, nullptr);
}

Address SharedHost::share(void* memory, size_t bytes) {
  if (bytes == 0) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  const std::lock_guard lock(mutex_);
  auto after = shares_.upper_bound(begin);
  if (after != shares_.begin()) {
    Share& before = std::prev(after)->second;
    const uintptr_t before_end = before.host + (before.end - before.begin);
    if (end <= before_end) {
      ++before.count;
      return before.begin + (begin - before.host);
    }
    if (begin < before_end) return 0;
  }
  if (after != shares_.end() && after->first < end) return 0;

  if (const auto own = context_.device_memory().find_mapped(begin, end)) {
    const Address address = own->begin + (begin - reinterpret_cast<uintptr_t>(own->mapped));
    shares_.emplace(begin, Share{address, address + bytes, begin, 1, false});
    return address;
  }
  const Address address = import(begin, bytes);
  if (address != 0) shares_.emplace(begin, Share{address, address + bytes, begin, 1, true});
  return address;
}

// The pages around the memory become the buffer. Only the memory itself is in the table: its neighbours in the first
// and the last page may be shared by another buffer.
Address SharedHost::import(uintptr_t begin, size_t bytes) {
  const uintptr_t page = context_.physical().host_import_alignment;
  if (page == 0) return 0;
  const uintptr_t first = begin / page * page, last = (begin + bytes + page - 1) / page * page;
  const Buffer buffer = context_.import_host_buffer(reinterpret_cast<void*>(first), last - first);
  if (buffer.handle == VK_NULL_HANDLE) return 0;
  const uint64_t offset = begin - first;
  const Address address = buffer.address + offset;
  context_.device_memory().add(
      {address, address + bytes, buffer.handle, offset, buffer.memory, reinterpret_cast<std::byte*>(begin)});
  return address;
}

void SharedHost::unshare(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto share = shares_.begin(); share != shares_.end(); ++share) {
    if (address < share->second.begin || address >= share->second.end) continue;
    if (--share->second.count != 0) return;
    if (share->second.own_buffer) {
      if (const auto range = context_.device_memory().remove(share->second.begin)) context_.destroy(*range);
    }
    shares_.erase(share);
    return;
  }
}

}  // namespace kymo::device::vulkan
