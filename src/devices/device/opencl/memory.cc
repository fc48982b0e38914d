#include "device/opencl/memory.h"

namespace kymo::device::opencl {

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

}  // namespace kymo::device::opencl
