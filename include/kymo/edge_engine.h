// For engines: how operations get into the EdgeProfiler (kymo/edge.h) that is on.
//
//   kymo::edge::Operation operation("conv2d", handle, [&](kymo::edge::Inputs& inputs) {
//     inputs.tensor(Element::Float, shape, strides);       // called only if somebody wants inputs; must not throw
//     inputs.integer(stride);
//   });
//   …                                                      // until the end of the scope
//
// Nothing here throws. While no profiler is on an Operation costs a thread-local load and a branch; while one is, two
// reads of the processor's clock and some 30 ns. An operation belongs to the profiler of its thread; an engine that
// hands work to other threads takes the log along (KeptLog, AdoptedLog).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/edge_module.h"
#include "kymo/export.h"

namespace kymo::edge {

// What a tensor is made of; the texts are Kineto's ("float", "long int", "c10::Half", …): kymo/edge_result.h.
enum class Element : uint8_t {
  Unknown,
  Bool,
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  BFloat16,
  Float,
  Double,
  ComplexHalf,
  ComplexFloat,
  ComplexDouble,
  QInt8,
  QUInt8,
  QInt32
};

// The inputs of one operation, put one after the other. What lies in `bytes()` is copied into the log and understood
// when the result is made: a tag each, then its numbers as 8 bytes each.
class Inputs {
 public:
  void tensor(Element element, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
    tag(Tag::Tensor);
    put_byte(static_cast<uint8_t>(element));
    put_byte(static_cast<uint8_t>(sizes.size() < 255 ? sizes.size() : 255));
    put_byte(strides.size() == sizes.size() ? 1 : 0);
    put(sizes.data(), (sizes.size() < 255 ? sizes.size() : 255) * sizeof(int64_t));
    if (strides.size() == sizes.size())
      put(strides.data(), (sizes.size() < 255 ? sizes.size() : 255) * sizeof(int64_t));
  }
  void integer(int64_t value) { tag(Tag::Integer), put(&value, sizeof value); }
  void real(double value) { tag(Tag::Real), put(&value, sizeof value); }
  void boolean(bool value) { tag(Tag::Boolean), put_byte(value ? 1 : 0); }
  void text(std::string_view value) { counted(Tag::Text, value.data(), value.size(), 1); }
  void integers(std::span<const int64_t> values) {
    counted(Tag::Integers, values.data(), values.size(), sizeof(int64_t));
  }
  void reals(std::span<const double> values) { counted(Tag::Reals, values.data(), values.size(), sizeof(double)); }
  void booleans(std::span<const uint8_t> values) { counted(Tag::Booleans, values.data(), values.size(), 1); }
  // The next `count` inputs are the elements of one list of tensors.
  void tensor_list(uint32_t count) { tag(Tag::TensorList), put(&count, sizeof count); }
  void none() { tag(Tag::None); }    // absent, as an optional tensor may be
  void other() { tag(Tag::Other); }  // something without a form here: an object, a dictionary

  std::span<const std::byte> bytes() const { return overflow_.empty() ? std::span(own_, used_) : std::span(overflow_); }
  uint32_t count() const { return count_; }
  bool whole() const { return whole_; }  // false: there was no memory, or they are more than kMost; none is kept then
  static constexpr size_t kMost = 1 << 20;

  enum class Tag : uint8_t {
    Tensor = 1,
    Integer,
    Real,
    Boolean,
    Text,
    Integers,
    Reals,
    Booleans,
    TensorList,
    None,
    Other
  };

 private:
  static constexpr size_t kOwn = 1024;
  void tag(Tag tag) { put_byte(static_cast<uint8_t>(tag)), ++count_; }
  void put_byte(uint8_t byte) { put(&byte, 1); }
  void counted(Tag what, const void* data, size_t count, size_t size) {
    const uint32_t kept = static_cast<uint32_t>(count < UINT32_MAX ? count : UINT32_MAX);
    tag(what), put(&kept, sizeof kept), put(data, kept * size);
  }
  void put(const void* data, size_t size) {
    if (size == 0) return;
    if (overflow_.empty() && size <= kOwn - used_) {
      std::memcpy(own_ + used_, data, size);
      used_ += size;
      return;
    }
    put_more(data, size);
  }
  // Apart, so that the usual case stays short.
  [[gnu::noinline]] void put_more(const void* data, size_t size) {
    whole_ = whole_ && size <= kMost - bytes().size();
    if (!whole_) return;
    try {
      if (overflow_.empty()) overflow_.assign(own_, own_ + used_);
      const auto* from = static_cast<const std::byte*>(data);
      overflow_.insert(overflow_.end(), from, from + size);
    } catch (const std::bad_alloc&) {
      whole_ = false;
    }
  }

  std::byte own_[kOwn];
  size_t used_ = 0;
  uint32_t count_ = 0;
  bool whole_ = true;
  std::vector<std::byte> overflow_;
};

enum class Scope : uint8_t { Operator, User, Backward, Function };

// What an operation is, known when it begins.
struct OperationFacts {
  std::string_view name;  // copied
  Scope scope = Scope::Operator;
  int64_t debug_handle = -1;    // asks the module where it is; -1: nowhere
  int64_t sequence = -1;        // ties a backward function to its forward one
  uint64_t forward_thread = 0;  // of a backward function
  uint64_t engine_id = 0;       // the engine's own number for this execution; 0: none
  bool told = false;            // a Kymo session that records has it from the engine already
};

struct OpenOperation;  // where it lies in the log

// ---- Calls: on any thread, for the log that is current there or was handed over -------------------------------------

// The log that this thread's operations go to; null: nobody listens.
KYMO_API Log* current_log() noexcept;
KYMO_API Wanted wanted(const Log& log) noexcept;

// Holds on to a log beyond the end of its profiler, as work that waits in a queue must: the log takes nothing more
// then, but it is there to be asked. Copies are cheap.
class KYMO_API KeptLog {
 public:
  explicit KeptLog(Log* log = nullptr) noexcept;
  ~KeptLog();
  KeptLog(const KeptLog& other) noexcept;
  KeptLog& operator=(KeptLog other) noexcept;

  Log* get() const noexcept { return log_; }

 private:
  Log* log_;
};

// Until the end of the scope operations of this thread go to `log` (null: to none), which must be there when it begins:
// it is kept from then on.
class KYMO_API AdoptedLog {
 public:
  explicit AdoptedLog(Log* log) noexcept;
  ~AdoptedLog();
  AdoptedLog(const AdoptedLog&) = delete;
  AdoptedLog& operator=(const AdoptedLog&) = delete;

 private:
  KeptLog before_, log_;
};

// `inputs` may be null. Null where the log took nothing more (it has ended, no memory), which end() takes.
KYMO_API OpenOperation* begin(Log& log, const OperationFacts& facts, const Inputs* inputs) noexcept;
// On the same thread, innermost first, which costs least; or in another order, or on another thread. An operation that
// is still open when the log ends is kept as unfinished, and must be ended all the same: the log is there until then.
KYMO_API void end(Log& log, OpenOperation* operation) noexcept;

struct MemoryFacts {
  const void* address = nullptr;
  int64_t bytes = 0;                                 // negative: given back
  uint64_t total_allocated = 0, total_reserved = 0;  // after it, as the allocator says; 0: it does not
  DeviceId device = {};
};
KYMO_API void memory(Log& log, const MemoryFacts& facts) noexcept;
KYMO_API void out_of_memory(Log& log, const MemoryFacts& facts) noexcept;  // `bytes` were wanted

// An operation of a device that was queued by this thread. Times as the device gave them, brought to nanoseconds of
// CLOCK_MONOTONIC.
struct DeviceFacts {
  std::string_view name;
  DeviceId device = {};
  uint64_t queue = 0;
  uint64_t queued_ns = 0;             // when the host asked for it
  uint64_t start_ns = 0, end_ns = 0;  // when it ran
};
KYMO_API void device_operation(Log& log, const DeviceFacts& facts) noexcept;

// ---- What inputs say, in words and numbers: for engines that tell it elsewhere too ---------------------------------

// Each an array in JSON, an item an input.
struct InputTexts {
  std::string sizes;    // [[64, 64], [], [[8], [8]]]
  std::string strides;  // likewise
  std::string types;    // ["float", "Scalar", "TensorList"]
  std::string values;   // ["", "1", ""]
};
KYMO_API InputTexts input_texts(std::span<const std::byte> inputs);

// The floating-point operations of the operator `name` on these, a multiply and an add each one. Nothing where the name
// is not known or the inputs do not tell.
KYMO_API std::optional<uint64_t> count_flops(std::string_view name, std::span<const std::byte> inputs);

// ---- An operation as a scope ----------------------------------------------------------------------------------------

class Operation {
 public:
  explicit Operation(std::string_view name, int64_t debug_handle = -1) noexcept
      : Operation(OperationFacts{.name = name, .debug_handle = debug_handle}) {}
  template <class PutInputs>
  Operation(std::string_view name, int64_t debug_handle, PutInputs&& put_inputs) noexcept : log_(current_log()) {
    if (log_ == nullptr) return;
    const OperationFacts facts{.name = name, .debug_handle = debug_handle};
    if (!wanted(*log_).inputs) {
      open_ = begin(*log_, facts, nullptr);
      return;
    }
    Inputs inputs;
    put_inputs(inputs);
    open_ = begin(*log_, facts, &inputs);
  }
  explicit Operation(const OperationFacts& facts) noexcept : log_(current_log()) {
    if (log_ != nullptr) open_ = begin(*log_, facts, nullptr);
  }
  ~Operation() {
    if (open_ != nullptr) end(*log_, open_);
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  Log* log_;
  OpenOperation* open_ = nullptr;
};

}  // namespace kymo::edge
