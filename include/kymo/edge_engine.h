// For engines: how operations get into the active EdgeProfiler (kymo/edge.h).
//
//   kymo::edge::Operation operation("conv2d", handle, [&](kymo::edge::Inputs& inputs) {
//     inputs.tensor(Element::Float, shape, strides);       // called only if inputs are wanted; must not throw
//     inputs.integer(stride);
//   });
//   …                                                      // until the end of the scope
//
// Nothing here throws. While no profiler is active, an Operation costs one thread-local load and one branch. While one
// is, it costs two reads of the CPU's clock and about 30 ns. An operation belongs to the profiler of its thread. An
// engine that moves work to other threads must pass the log to them (KeptLog, AdoptedLog).
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

// The element type of a tensor. The texts are Kineto's ("float", "long int", "c10::Half", …): kymo/edge_result.h.
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

// The inputs of one operation, added one after the other. `bytes()` is copied into the log and parsed when the result
// is made. Each input is a tag and then its numbers of 8 bytes each.
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
  void none() { tag(Tag::None); }    // absent, for example an optional tensor
  void other() { tag(Tag::Other); }  // unsupported: an object, a dictionary

  std::span<const std::byte> bytes() const { return overflow_.empty() ? std::span(own_, used_) : std::span(overflow_); }
  uint32_t count() const { return count_; }
  bool whole() const { return whole_; }  // false: no memory, or more than kMaxBytes bytes; then no input is kept
  static constexpr size_t kMaxBytes = 1 << 20;

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
  // A separate function, to keep the usual case short.
  [[gnu::noinline]] void put_more(const void* data, size_t size) {
    whole_ = whole_ && size <= kMaxBytes - bytes().size();
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

// The properties of an operation that are known when it begins.
struct OperationFacts {
  std::string_view name;  // copied
  Scope scope = Scope::Operator;
  int64_t debug_handle = -1;      // identifies the place in the module; -1: none
  int64_t sequence = -1;          // connects a backward function to its forward function
  uint64_t forward_thread = 0;    // of a backward function
  uint64_t engine_id = 0;         // the engine's own number for this execution; 0: none
  bool already_recorded = false;  // the engine has recorded it already in the running Kymo session
};

struct OpenOperation;  // its position in the log

// ---- Calls from any thread, for its current log or for a log of another thread -------------------------------------

// The log that receives this thread's operations; null: no profiler is active.
KYMO_API Log* current_log() noexcept;
KYMO_API Wanted wanted(const Log& log) noexcept;

// Keeps a log alive after the end of its profiler. Work that waits in a queue needs this. After the end the log is
// still valid but records nothing more. Copies are cheap.
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

// Until the end of the scope, operations of this thread go to `log` (null: to none). `log` must be alive when the scope
// begins; this object then keeps it alive.
class KYMO_API AdoptedLog {
 public:
  explicit AdoptedLog(Log* log) noexcept;
  ~AdoptedLog();
  AdoptedLog(const AdoptedLog&) = delete;
  AdoptedLog& operator=(const AdoptedLog&) = delete;

 private:
  KeptLog before_, log_;
};

// `inputs` may be null. Returns null if the log records nothing more (it has ended, or no memory); end() accepts null.
KYMO_API OpenOperation* begin(Log& log, const OperationFacts& facts, const Inputs* inputs) noexcept;
// Cheapest on the same thread, innermost first. Any other order and any other thread are allowed. An operation that is
// open when the log ends is kept as unfinished. It must still be ended: the log stays alive until then.
KYMO_API void end(Log& log, OpenOperation* operation) noexcept;

struct MemoryFacts {
  const void* address = nullptr;
  int64_t bytes = 0;                                 // negative: freed
  uint64_t total_allocated = 0, total_reserved = 0;  // after this change, as the allocator reports; 0: unknown
  DeviceId device = {};
};
KYMO_API void memory(Log& log, const MemoryFacts& facts) noexcept;
KYMO_API void out_of_memory(Log& log, const MemoryFacts& facts) noexcept;  // `bytes` were requested

// A device operation that this thread queued. Times are the device's, converted to nanoseconds of CLOCK_MONOTONIC. Its
// cause is the operation of this thread that was open at queued_ns, so it can be reported at any later time.
struct DeviceFacts {
  std::string_view name;
  DeviceId device = {};
  uint64_t queue = 0;
  uint64_t queued_ns = 0;             // when the host requested it; 0: its cause is what is open now
  uint64_t start_ns = 0, end_ns = 0;  // when it ran
};
KYMO_API void device_operation(Log& log, const DeviceFacts& facts) noexcept;

// ---- Inputs as text and numbers, for engines that also report them elsewhere ---------------------------------------

// Each text is a JSON array with one item per input.
struct InputTexts {
  std::string sizes;    // [[64, 64], [], [[8], [8]]]
  std::string strides;  // in the same form
  std::string types;    // ["float", "Scalar", "TensorList"]
  std::string values;   // ["", "1", ""]
};
KYMO_API InputTexts input_texts(std::span<const std::byte> inputs);

// The floating-point operations of the operator `name` with these inputs. A multiply and an add count as one each.
// Returns nothing if the name is not known or the inputs do not determine the count.
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
