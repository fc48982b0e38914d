#include "device/opencl/host_memory.h"

#include <cstdlib>

#include "device/opencl/context.h"

namespace kymo::device::opencl {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

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

}  // namespace kymo::device::opencl
