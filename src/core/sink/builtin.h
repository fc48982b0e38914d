// The built-in sinks of Kymo, one file each, and what they share.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "kymo/error.h"
#include "kymo/sink_calls.h"

namespace kymo::sink {

struct BuiltinSink {
  const char* name;
  // Why it is not available here, and what to do, in one line; empty: it is available. Changes nothing.
  std::string (*absent)();
  // Returns the sink, ready to be added; always the same one. Throws NotAvailable.
  const kymo_sink& (*open)();
};

// The exception that `open` throws.
inline NotAvailable not_available(const char* name, const std::string& why) {
  return NotAvailable("no sink \"" + std::string(name) + "\" here: " + why);
}

BuiltinSink usdt();
BuiltinSink lttng();
BuiltinSink trace_marker();
BuiltinSink nvtx();

// ---- Texts for tools, built on the stack, because sinks are also called in signal handlers -------------------------

// At most kBytes with the NUL; longer text is truncated.
template <size_t kBytes>
class StackText {
 public:
  StackText() noexcept { text_[0] = '\0'; }

  StackText& put(const char* bytes, size_t length) noexcept {
    if (bytes == nullptr) return *this;
    if (length > kBytes - 1 - used_) length = kBytes - 1 - used_;
    std::memcpy(text_ + used_, bytes, length);
    text_[used_ += length] = '\0';
    return *this;
  }
  StackText& put(const char* word) noexcept { return put(word, std::strlen(word)); }
  template <class Number>
  StackText& put_number(Number number) noexcept {
    char digits[64];
    const auto made = std::to_chars(digits, digits + sizeof digits, number);
    return put(digits, static_cast<size_t>(made.ptr - digits));
  }

  char* data() noexcept { return text_; }
  const char* text() const noexcept { return text_; }
  size_t size() const noexcept { return used_; }

 private:
  size_t used_ = 0;
  char text_[kBytes];
};

inline constexpr size_t kTextBytes = 512;

// A NUL-terminated copy of a signpost's text.
class Terminated : public StackText<kTextBytes> {
 public:
  Terminated(const char* bytes, uint32_t length) noexcept { put(bytes, length); }
};

// What ran and when, for tools that take only texts: "scale execution=77 start_ns=1000 end_ns=2500". A tool notes a
// signpost at the time of the call, which is later than the end of the work.
class DeviceTimes : public StackText<kTextBytes> {
 public:
  DeviceTimes(const kymo_signpost& post, const char* what, uint32_t length) noexcept {
    constexpr uint32_t kNumbers = 100;  // bytes of the three numbers and their names
    put(what, std::min<uint32_t>(length, kTextBytes - kNumbers));
    if (post.end_ns == 0) return;  // the device did not report its times
    put(" execution=").put_number(post.execution);
    put(" start_ns=").put_number(post.start_ns);
    put(" end_ns=").put_number(post.end_ns);
  }
  // Of an event: the message, if there is one.
  static DeviceTimes of_event(const kymo_signpost& post) noexcept {
    return post.message_length != 0 ? DeviceTimes(post, post.message, post.message_length)
                                    : DeviceTimes(post, post.name, post.name_length);
  }
};

}  // namespace kymo::sink
