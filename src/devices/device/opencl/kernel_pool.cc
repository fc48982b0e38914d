#include "device/opencl/kernel_pool.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/text.h"
#include "device/opencl/api.h"
#include "kymo/error.h"

namespace kymo::device::opencl {

KernelPool::KernelPool(const Context& context, cl_program program, const KernelInfo& info, bool takes_stamp)
    : context_(context),
      program_(program),
      name_(info.symbol_or_name()),
      takes_grid_(info.takes_grid),
      takes_stamp_(takes_stamp) {
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter& parameter = info.parameters[i];
    kinds_.push_back(parameter.kind);
    if (parameter.kind == ParameterKind::Unknown && parameter.count == 0 && refused_parameter_.empty())
      refused_parameter_ = parameter.name.empty() ? base::format("number {}", i + 1) : parameter.name;
  }
  if (takes_grid_) kinds_.push_back(ParameterKind::Value);
  if (takes_stamp_) kinds_.push_back(ParameterKind::Value);
}

KernelPool::~KernelPool() {
  for (Slot& slot : slots_)
    if (slot.kernel != nullptr) context_.cl.clReleaseKernel(slot.kernel);
}

void KernelPool::prepare() { const Loan loan(*this); }

bool KernelPool::needs_other_code(const Extent& group, const Extent& threads, bool has_offset) {
  const Code needed{group, std::max({threads.x, threads.y, threads.z}), has_offset};
  const auto last = std::ranges::find(code_, group, &Code::group);
  if (last == code_.end()) {
    code_.push_back(needed);
    return true;
  }
  if (needed.width <= last->width && (last->takes_offset || !has_offset)) return false;
  *last = needed;
  return true;
}

KernelPool::Slot& KernelPool::lend() {
  for (;;) {
    for (Slot& slot : slots_) {
      if (slot.lent.load(std::memory_order_relaxed) || slot.lent.exchange(true, std::memory_order_acquire)) continue;
      if (slot.kernel != nullptr) [[likely]]
        return slot;
      try {
        make(slot);
      } catch (...) {
        slot.lent.store(false, std::memory_order_release);
        throw;
      }
      return slot;
    }
    std::this_thread::yield();
  }
}

void KernelPool::make(Slot& slot) {
  if (slot.kernel != nullptr) context_.cl.clReleaseKernel(std::exchange(slot.kernel, nullptr));
  cl_int code = CL_SUCCESS;
  slot.kernel = context_.cl.clCreateKernel(program_, name_.c_str(), &code);
  check(code, "clCreateKernel");
  slot.indirect.clear();
  slot.arguments.assign(kinds_.size(), {});
  for (size_t i = 0; i < kinds_.size(); ++i) slot.arguments[i].kind = kinds_[i];
}

void KernelPool::set(Slot& slot, const Launch& launch) {
  if (!refused_parameter_.empty()) [[unlikely]]
    refuse();
  const uint64_t releases = context_.releases.load(std::memory_order_acquire);
  const bool addresses_hold = slot.releases == releases;
  if (!launch.indirect.empty() || !slot.indirect.empty()) [[unlikely]]
    set_indirect(slot, launch.indirect);
  const size_t count = std::min(launch.arguments.size(), slot.arguments.size() - added());
  for (size_t i = 0; i < count; ++i) set_changed(slot, i, launch.arguments[i], addresses_hold);
  set_grid(slot, launch, {0, 0, 0});
  slot.releases = releases;
}

void KernelPool::set_grid(Slot& slot, const Launch& launch, const Extent& offset) {
  if (!takes_grid_) return;
  Grid grid = grid_of(launch);
  grid.offset = {static_cast<uint32_t>(offset.x), static_cast<uint32_t>(offset.y), static_cast<uint32_t>(offset.z)};
  set_changed(slot, slot.arguments.size() - added(), {&grid, sizeof grid, 0, 0}, true);
}

void KernelPool::set_stamp(Slot& slot, const Stamp& stamp) {
  set_changed(slot, slot.arguments.size() - 1, {&stamp, sizeof stamp, 0, 0}, true);
}

void KernelPool::set_changed(Slot& slot, size_t index, const Argument& argument, bool addresses_hold) {
  const Remembered& last = slot.arguments[index];
  if (last.is_set) {
    if (last.kind == ParameterKind::Buffer) {
      if (last.address == argument.address && addresses_hold) return;
    } else if (last.bytes == argument.bytes) {
      if (last.kind == ParameterKind::Local) return;
      if (argument.bytes <= last.value.size() && std::memcmp(last.value.data(), argument.data, argument.bytes) == 0)
        return;
    }
  }
  set_one(slot, static_cast<cl_uint>(index), argument);
}

void KernelPool::set_one(Slot& slot, cl_uint index, const Argument& argument) {
  const Api& cl = context_.cl;
  Remembered& last = slot.arguments[index];
  last.is_set = false;
  switch (last.kind) {
    case ParameterKind::Buffer:
      if (argument.address != 0)
        check(cl.clSetKernelArgSVMPointer(slot.kernel, index, reinterpret_cast<const void*>(argument.address)),
              "clSetKernelArgSVMPointer");
      else
        check(cl.clSetKernelArg(slot.kernel, index, sizeof(cl_mem), nullptr), "clSetKernelArg");
      last.address = argument.address;
      break;
    case ParameterKind::Local:  // a driver refuses group memory of no bytes
      check(cl.clSetKernelArg(slot.kernel, index, std::max<size_t>(argument.bytes, 1), nullptr), "clSetKernelArg");
      break;
    case ParameterKind::Value:
    case ParameterKind::Unknown:
    case ParameterKind::Word:
    case ParameterKind::Inline: {
      const cl_int code = cl.clSetKernelArg(slot.kernel, index, argument.bytes, argument.data);
      if (code == CL_INVALID_ARG_SIZE)
        throw InvalidArgument(base::format("argument {} of kernel {} has {} bytes, and the size of its type is another",
                                           index + 1, name_, argument.bytes));
      check(code, "clSetKernelArg");
      if (argument.bytes <= last.value.size()) std::memcpy(last.value.data(), argument.data, argument.bytes);
      break;
    }
  }
  last.bytes = argument.bytes;
  last.is_set = true;
}

void KernelPool::set_indirect(Slot& slot, std::span<const Address> indirect) {
  // There is no portable way to remove pointers that were set before. A new kernel object has none.
  if (indirect.empty()) {
    make(slot);
    return;
  }
  if (std::equal(indirect.begin(), indirect.end(), slot.indirect.begin(), slot.indirect.end()) &&
      slot.releases == context_.releases.load(std::memory_order_acquire))
    return;
  static_assert(sizeof(Address) == sizeof(void*), "an address is a pointer");
  check(context_.cl.clSetKernelExecInfo(slot.kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, indirect.size_bytes(),
                                        indirect.data()),
        "clSetKernelExecInfo");
  slot.indirect.assign(indirect.begin(), indirect.end());
}

void KernelPool::refuse() const {
  throw InvalidArgument(
      base::format("kernel {} cannot be launched: its parameter {} is an image, a sampler, a pipe or a queue; use "
                   "buffers, numbers and structures",
                   name_, refused_parameter_));
}

}  // namespace kymo::device::opencl
