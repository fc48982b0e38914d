#include "device/opencl/context.h"

#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/host.h"

namespace kymo::device::opencl {
namespace {

constexpr size_t kPage = 4096;

// Kymo's OpenCL layer may be in the process. What happens in this context is recorded here, so the layer must not.
void exclude_from_layer(const Api& cl, cl_platform_id platform, cl_context context) {
  if (base::environment("OPENCL_LAYERS") == nullptr || cl.clGetExtensionFunctionAddressForPlatform == nullptr) return;
  using Exclude = void(CL_API_CALL*)(cl_context);
  const auto exclude =
      reinterpret_cast<Exclude>(cl.clGetExtensionFunctionAddressForPlatform(platform, base::kExcludeContext));
  if (exclude != nullptr) exclude(context);
}

}  // namespace

Context::Context(std::shared_ptr<const Api> loaded, FoundDevice found)
    : api(std::move(loaded)), cl(*api), device(std::move(found)), host_memory(*this) {
  renew();
}

void Context::renew() {
  handle = {};  // release it first: a lost context may prevent a new one
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(device.platform), 0};
  handle = {cl.clCreateContext(properties, 1, &device.id, nullptr, nullptr, &code), cl.clReleaseContext};
  check(code, "clCreateContext");
  exclude_from_layer(cl, device.platform, handle.get());
}

CommandQueue Context::make_queue(bool profiling) const {
  cl_int code = CL_SUCCESS;
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  CommandQueue queue(
      cl.clCreateCommandQueueWithProperties(handle.get(), device.id, profiling ? properties : nullptr, &code),
      cl.clReleaseCommandQueue);
  check(code, "clCreateCommandQueueWithProperties");
  return queue;
}

Address Memory::allocate(size_t bytes) {
  const DeviceInfo& info = context_.device.info;
  if (bytes == 0 || bytes > info.max_allocation) return 0;
  const std::lock_guard lock(mutex_);
  if (bytes > info.total_memory - held_) return 0;
  const cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (context_.device.fine_grained ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
  void* block = context_.cl.clSVMAlloc(context_.handle.get(), flags, bytes + kAlignment, 0);
  if (block == nullptr) return 0;
  const Address address = (reinterpret_cast<Address>(block) + kAlignment - 1) / kAlignment * kAlignment;
  blocks_.emplace(address, Block{block, bytes});
  held_ += bytes;
  return address;
}

void Memory::release(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  context_.releases.fetch_add(1, std::memory_order_release);
  context_.cl.clSVMFree(context_.handle.get(), found->second.driver);
  held_ -= found->second.bytes;
  blocks_.erase(found);
}

void Memory::forget() noexcept {
  const std::lock_guard lock(mutex_);
  blocks_.clear();
  held_ = 0;
  context_.releases.fetch_add(1, std::memory_order_release);
}

HostMemory::~HostMemory() {
  for (auto& [address, block] : blocks_) dispose(reinterpret_cast<void*>(address), block);
}

void* HostMemory::allocate(size_t bytes) {
  if (bytes == 0) bytes = 1;
  Block block;
  void* memory = context_.device.is_cpu ? allocate_plain(bytes, block) : allocate_mapped(bytes, block);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<uintptr_t>(memory), std::move(block));
  count_.store(blocks_.size(), std::memory_order_release);
  return memory;
}

void* HostMemory::allocate_plain(size_t bytes, Block& block) {
  block.bytes = (bytes + kPage - 1) / kPage * kPage;
  return std::aligned_alloc(kPage, block.bytes);
}

void* HostMemory::allocate_mapped(size_t bytes, Block& block) {
  const Api& cl = context_.cl;
  cl_int code = CL_SUCCESS;
  block.bytes = bytes;
  block.buffer = {
      cl.clCreateBuffer(context_.handle.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code),
      cl.clReleaseMemObject};
  if (code != CL_SUCCESS) return nullptr;
  const CommandQueue queue = context_.make_queue(false);
  void* memory = cl.clEnqueueMapBuffer(queue.get(), block.buffer.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                       0, nullptr, nullptr, &code);
  return code == CL_SUCCESS ? memory : nullptr;
}

void HostMemory::release(void* memory) noexcept {
  if (memory == nullptr) return;
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(memory));
    if (found == blocks_.end()) return;
    block = std::move(found->second);
    blocks_.erase(found);
    count_.store(blocks_.size(), std::memory_order_release);
  }
  dispose(memory, block);
}

void HostMemory::dispose(void* memory, Block& block) noexcept {
  if (!block.buffer) {
    std::free(memory);
    return;
  }
  try {
    const CommandQueue queue = context_.make_queue(false);
    context_.cl.clEnqueueUnmapMemObject(queue.get(), block.buffer.get(), memory, 0, nullptr, nullptr);
    context_.cl.clFinish(queue.get());
  } catch (...) {
    // A lost device cannot create a queue. Its buffer is lost too.
  }
  block.buffer = {};
}

bool HostMemory::covers(const void* from, size_t bytes) const {
  if (count_.load(std::memory_order_acquire) == 0) return false;
  const auto address = reinterpret_cast<uintptr_t>(from);
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const auto& [begin, block] = *--after;
  return address - begin <= block.bytes && bytes <= block.bytes - (address - begin);
}

void HostMemory::forget() noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [](const auto& entry) { return static_cast<bool>(entry.second.buffer); });
  count_.store(blocks_.size(), std::memory_order_release);
}

Staging::~Staging() { context_.host_memory.release(memory_); }

const void* Staging::stage(cl_command_queue queue, const void* from, size_t bytes) {
  if (memory_ == nullptr) {
    memory_ = static_cast<std::byte*>(context_.host_memory.allocate(closed_.size() * kSegmentBytes));
    if (memory_ == nullptr) return nullptr;
  }
  if (used_ + bytes > kSegmentBytes) close_segment(queue);
  std::byte* at = memory_ + segment_ * kSegmentBytes + used_;
  std::memcpy(at, from, bytes);
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

void Staging::close_segment(cl_command_queue queue) {
  const Api& cl = context_.cl;
  cl_event event = nullptr;
  check(cl.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  closed_[segment_] = {event, cl.clReleaseEvent};
  check(cl.clFlush(queue), "clFlush");
  segment_ = (segment_ + 1) % closed_.size();
  used_ = 0;
  if (!closed_[segment_]) return;
  const cl_event earlier = closed_[segment_].get();
  check(cl.clWaitForEvents(1, &earlier), "clWaitForEvents");
  closed_[segment_] = {};
}

}  // namespace kymo::device::opencl
