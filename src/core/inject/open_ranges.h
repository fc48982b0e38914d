// The nested ranges that a thread has open for an interface, and the rule for ends that do not come.
//
// A runtime may leave out the end of a range, or report it late and with other data than its begin. So an end closes
// the innermost open range of its kind, together with the ranges inside it. An end without such a range does nothing. A
// range that began while nothing recorded has no end in the trace. Used by its thread alone.
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include "kymo/annotate.h"
#include "record/interfaces.h"

namespace kymo::inject {

class OpenRanges {
 public:
  static constexpr uint32_t kDepth = 256;  // deeper ranges are not recorded

  explicit OpenRanges(record::Interface interface) noexcept : interface_(interface) {}

  // `kind` and `object` tell ranges apart. `store(receivers)` stores the begin; it is called if there are receivers.
  template <class Store>
  void begin(uint8_t kind, const void* object, Store store) noexcept {
    const uint32_t receivers = depth_ < kDepth ? kymo::detail::receiver_bits() : 0;
    if (receivers != 0) store(receivers);
    add({object, receivers, kind});
  }
  // The range with this object; null: the innermost one of its kind. False: there is no such range.
  bool end(uint8_t kind, const void* object = nullptr) noexcept;
  void end_all() noexcept;

  bool has(uint8_t kind, const void* object = nullptr) const noexcept { return find(kind, object) >= 0; }

 private:
  struct Entry {
    const void* object;
    uint32_t receivers;  // who got its begin, and gets its end
    uint8_t kind;
  };

  void add(const Entry& entry) noexcept;
  int find(uint8_t kind, const void* object) const noexcept;
  void end_top() noexcept;

  const record::Interface interface_;
  uint32_t depth_ = 0;
  uint32_t skipped_ = 0;  // begins without space
  Entry entries_[kDepth];
};

// The open ranges of the calling thread for an interface: made with its first one, and deleted when it ends. A pointer,
// because the space for such variables of loaded libraries is small.
template <record::Interface kInterface>
class ThreadRanges {
 public:
  static OpenRanges* get() noexcept {  // null: no memory
    if (ranges_ == nullptr) {
      ranges_ = new (std::nothrow) OpenRanges(kInterface);
      static thread_local AtExit at_exit;
      (void)&at_exit;
    }
    return ranges_;
  }
  static OpenRanges* if_there() noexcept { return ranges_; }

 private:
  struct AtExit {
    ~AtExit() { delete std::exchange(ranges_, nullptr); }
  };
  static inline thread_local constinit OpenRanges* ranges_ __attribute__((tls_model("initial-exec"))) = nullptr;
};

}  // namespace kymo::inject
