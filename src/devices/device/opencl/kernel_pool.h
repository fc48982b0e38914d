// A kernel that many threads can launch at once.
//
// An OpenCL kernel object contains its arguments, so only one thread at a time can set them and enqueue. A pool has up
// to eight objects of one kernel and lends the first free one; the ninth thread spins. A lent object remembers its
// arguments and sets only those that changed: a launch with the same arguments as the last one sets none.
//
// Cost of a loan without contention: one atomic exchange and one store.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/opencl/context.h"
#include "device/ptx/ptx.h"

namespace kymo::device::opencl {

class KernelPool {
 public:
  // `program` must outlive the pool. Creates no kernel object before the first loan. `takes_stamp`: the kernel has a
  // Stamp as its last parameter (build_stamped).
  KernelPool(const Context& context, cl_program program, const KernelInfo& info, bool takes_stamp);
  KernelPool(const KernelPool&) = delete;
  ~KernelPool();

  // Throws if the program has no such kernel: an early check.
  void prepare();
  bool takes_stamp() const { return takes_stamp_; }

  // For FoundDevice::waits_for_other_code, with Context::launching held: true if the code of the last launch with this
  // group size may not serve a launch with this number of threads.
  bool needs_other_code(const Extent& group, const Extent& threads, bool has_offset);

 private:
  struct Remembered {
    ParameterKind kind = ParameterKind::Buffer;
    bool is_set = false;
    uint32_t bytes = 0;
    Address address = 0;
    std::array<std::byte, 48> value{};
  };
  struct alignas(64) Slot {
    std::atomic<bool> lent{false};
    cl_kernel kernel = nullptr;
    uint64_t releases = 0;  // Context::releases when the addresses were set
    std::vector<Address> indirect;
    std::vector<Remembered> arguments;
  };

 public:
  // Returned at the end of its scope.
  class Loan {
   public:
    explicit Loan(KernelPool& pool) : pool_(pool), slot_(pool.lend()) {}
    Loan(const Loan&) = delete;
    ~Loan() { slot_.lent.store(false, std::memory_order_release); }

    void set(const Launch& launch) { pool_.set(slot_, launch); }
    // Call it after set(): for the piece of the launch that begins at this offset.
    void set_offset(const Launch& launch, const Extent& offset) { pool_.set_grid(slot_, launch, offset); }
    // For a kernel that takes a stamp: call it before every launch.
    void set_stamp(const Stamp& stamp) { pool_.set_stamp(slot_, stamp); }
    cl_kernel get() const { return slot_.kernel; }

   private:
    KernelPool& pool_;
    Slot& slot_;
  };

 private:
  Slot& lend();
  void make(Slot& slot);
  void set(Slot& slot, const Launch& launch);
  void set_grid(Slot& slot, const Launch& launch, const Extent& offset);
  void set_stamp(Slot& slot, const Stamp& stamp);
  void set_changed(Slot& slot, size_t index, const Argument& argument, bool addresses_hold);
  void set_one(Slot& slot, cl_uint index, const Argument& argument);
  void set_indirect(Slot& slot, std::span<const Address> indirect);
  size_t added() const { return (takes_grid_ ? 1 : 0) + (takes_stamp_ ? 1 : 0); }  // parameters after the caller's
  [[noreturn]] void refuse() const;

  const Context& context_;
  cl_program program_;
  std::string name_;
  std::vector<ParameterKind> kinds_;
  bool takes_grid_, takes_stamp_;
  std::string refused_parameter_;  // empty: all parameters can be passed
  std::array<Slot, 8> slots_;
  struct Code {
    Extent group;
    uint64_t width;
    bool takes_offset;
  };
  std::vector<Code> code_;  // at least what the driver's code that was used last can do, for each group size
};

}  // namespace kymo::device::opencl
