// Annotations: a program records what it is doing as ranges, marks, counters and flows.
//
//   KYMO_RANGE("load");                       // until the end of the scope
//   kymo::Range step{"step {}", i};           // the same as an object; stores the argument, readers format it
//   kymo::range_push("epoch"); … kymo::range_pop();
//   auto id = kymo::range_start("request"); … kymo::range_end(id);   // may end on another thread
//   kymo::mark("cache miss");  kymo::counter("queue", n);
//   auto f = kymo::ranged("parse", parse);    // a callable inside a range
//   (kymo/queue_track.h: queues of devices, and launches; kymo/sink.h: sends all this to other tools)
//
// Call these functions from any thread at any time: in signal handlers, thread-local destructors and forked children,
// before and after recording. They never throw, lock or allocate. While nothing records, a Range costs one load and one
// branch. While something records, a range costs about two reads of the CPU's clock. KYMO_RANGE is the fastest form: it
// registers its name once for its place in the code.
//
// A label is a name, or kymo::Label(name, category, colour). Arguments are numbers, booleans, enums, pointers and text.
// kymo::arg("rows", n) gives an argument a name, and kymo::bytes("size", n) is a count of bytes. Arguments without a
// name fill the "{}" of the label's name. "{0}", "{rows}", "{:.3f}" and "{{" work as in Python (docs/format.md).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kymo/kymo.h"

namespace kymo {

// ---- Names and arguments of events ---------------------------------------------------------------------------------

namespace colour {
inline constexpr uint32_t kRed = 0xffe53935, kOrange = 0xfffb8c00, kYellow = 0xfffdd835, kGreen = 0xff43a047,
                          kTeal = 0xff00897b, kBlue = 0xff1e88e5, kPurple = 0xff8e24aa, kGrey = 0xff757575;
}

struct Label : kymo_label {
  constexpr Label(std::string_view text, std::string_view group = {}, uint32_t argb = 0) noexcept
      : kymo_label{text.data(), group.data(), static_cast<uint32_t>(text.size()), static_cast<uint32_t>(group.size()),
                   argb} {}
  constexpr Label(const char* text) noexcept : Label(std::string_view(text)) {}
  Label(const std::string& text) noexcept : Label(std::string_view(text)) {}
};

namespace detail {

template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;
template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept Address = std::is_pointer_v<std::decay_t<T>> && !Text<T>;

inline kymo_arg make_arg(const char* name, uint32_t type, uint64_t bits) noexcept {
  kymo_arg made{name, {}, 0, type};
  made.value.as_uint = bits;
  return made;
}

template <class T>
requires(Number<T> || Text<T> || Address<T>) kymo_arg to_arg(const T& value, const char* name = nullptr)
noexcept {
  if constexpr (Text<T>) {
    const std::string_view text(value);
    kymo_arg made{name, {}, static_cast<uint32_t>(text.size()), KYMO_STRING};
    made.value.as_text = text.data();
    return made;
  } else if constexpr (std::same_as<T, bool>) {
    return make_arg(name, KYMO_BOOL, value ? 1 : 0);
  } else if constexpr (std::is_floating_point_v<T>) {
    kymo_arg made{name, {}, 0, KYMO_DOUBLE};
    made.value.as_double = static_cast<double>(value);
    return made;
  } else if constexpr (std::is_enum_v<T>) {
    return to_arg(static_cast<std::underlying_type_t<T>>(value), name);
  } else if constexpr (std::is_pointer_v<std::decay_t<T>>) {
    return make_arg(name, KYMO_POINTER, reinterpret_cast<uintptr_t>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return make_arg(name, KYMO_INT, static_cast<uint64_t>(static_cast<int64_t>(value)));
  } else {
    return make_arg(name, KYMO_UINT, static_cast<uint64_t>(value));
  }
}
inline kymo_arg to_arg(const kymo_arg& made) noexcept { return made; }

inline bool recording() noexcept {
  return __builtin_expect((kymo_mode.load(std::memory_order_relaxed) & KYMO_MODE_RECORDING) != 0, 0);
}
// Who receives an annotation: bits of KYMO_MODE_HEARD. One load and one branch if nobody does.
inline uint32_t receiver_bits() noexcept { return kymo_mode.load(std::memory_order_relaxed) & KYMO_MODE_HEARD; }

template <class Call, class... Args>
decltype(auto) with_args(Call&& call, const Args&... args) noexcept {
  if constexpr (sizeof...(Args) == 0) {
    return call(static_cast<const kymo_arg*>(nullptr), 0u);
  } else {
    const std::array<kymo_arg, sizeof...(Args)> list{to_arg(args)...};
    return call(list.data(), static_cast<uint32_t>(list.size()));
  }
}

template <class... Args>
void record(kymo_kind kind, const Label& label, uint64_t id, const Args&... args) noexcept {
  if (__builtin_expect(receiver_bits() == 0, 1)) return;
  with_args([&](const kymo_arg* list, uint32_t count) { kymo_record(kind, &label, list, count, id); }, args...);
}

}  // namespace detail

// A named argument. The name is NUL-terminated.
template <class T>
kymo_arg arg(const char* name, const T& value) noexcept {
  return detail::to_arg(value, name);
}
// A count of bytes. Readers show it as bytes.
inline kymo_arg bytes(const char* name, uint64_t count) noexcept { return detail::make_arg(name, KYMO_BYTES, count); }

// ---- Nested ranges -------------------------------------------------------------------------------------------------

// Opens a range on this thread. Returns its zero-based depth among the ranges that this thread has pushed. The depth is
// correct also while nothing records. Scoped ranges do not count: one that is not recorded does nothing at all.
template <class... Args>
int range_push(const Label& label, const Args&... args) noexcept {
  return detail::with_args(
      [&](const kymo_arg* list, uint32_t count) { return kymo_range_push_label(&label, list, count); }, args...);
}

// Closes the innermost pushed range and returns its depth. Returns -1 if none is open; this is counted while recording.
inline int range_pop() noexcept { return kymo_range_pop(); }

// A place in the code with a constant label, in static storage. KYMO_RANGE makes one.
struct Site : kymo_site {
  constexpr explicit Site(const Label& name) noexcept : kymo_site{name, {}} {}
};

// A range from here to the end of the scope. It is recorded as a whole or not at all: if its start was not recorded,
// its end is not recorded either. The same is true for sinks.
class [[nodiscard]] Range {
 public:
  template <class... Args>
  explicit Range(const Label& label, const Args&... args) noexcept : receivers_(detail::receiver_bits()) {
    if (__builtin_expect(receivers_ == 0, 1)) return;
    detail::with_args(
        [&](const kymo_arg* list, uint32_t count) { kymo_begin_label_heard(&label, list, count, receivers_); },
        args...);
  }
  template <class... Args>
  explicit Range(Site& site, const Args&... args) noexcept : receivers_(detail::receiver_bits()) {
    if (__builtin_expect(receivers_ == 0, 1)) return;
    if constexpr (sizeof...(Args) == 0)
      kymo_begin_heard(&site, receivers_);
    else
      detail::with_args(
          [&](const kymo_arg* list, uint32_t count) { kymo_begin_args_heard(&site, list, count, receivers_); },
          args...);
  }
  ~Range() {
    if (receivers_ != 0) kymo_end_heard(receivers_);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  uint32_t receivers_;  // detail::receiver_bits() when it began
};

#define KYMO_JOIN_(a, b) a##b
#define KYMO_JOIN(a, b) KYMO_JOIN_(a, b)
// KYMO_RANGE("step {}", i): a range to the end of the scope. The label must be a constant.
#define KYMO_RANGE(label, ...) KYMO_RANGE_(__COUNTER__, label __VA_OPT__(, ) __VA_ARGS__)
#define KYMO_RANGE_(number, label, ...)                               \
  static constinit ::kymo::Site KYMO_JOIN(kymo_site_, number){label}; \
  const ::kymo::Range KYMO_JOIN(kymo_range_, number) { KYMO_JOIN(kymo_site_, number) __VA_OPT__(, ) __VA_ARGS__ }

// Wraps `f`: each call of it is inside a range. The name is copied.
template <class F>
auto ranged(std::string name, F&& f) {
  return [name = std::move(name), f = std::forward<F>(f)](auto&&... args) mutable -> decltype(auto) {
    const Range range{std::string_view(name)};
    return f(std::forward<decltype(args)>(args)...);
  };
}

// ---- Ranges across threads -----------------------------------------------------------------------------------------

enum class RangeId : uint64_t {};  // unique in this process; never 0

template <class... Args>
RangeId range_start(const Label& label, const Args&... args) noexcept {
  return RangeId{detail::with_args(
      [&](const kymo_arg* list, uint32_t count) { return kymo_range_start_label(&label, list, count); }, args...)};
}
// May be called on any thread. An unknown or ended id is counted while recording.
inline void range_end(RangeId id) noexcept { kymo_range_end(static_cast<uint64_t>(id)); }

// ---- Points in time ------------------------------------------------------------------------------------------------

template <class... Args>
void mark(const Label& label, const Args&... args) noexcept {
  detail::record(KYMO_INSTANT, label, 0, args...);
}

// A value that changes over time.
template <class T>
requires std::is_arithmetic_v<T>
void counter(const Label& label, T value) noexcept { detail::record(KYMO_COUNTER, label, 0, arg("value", value)); }

// Connects the ranges that are open at these moments, on any threads, to one flow with this number.
inline void flow_begin(const Label& label, uint64_t flow) noexcept { detail::record(KYMO_FLOW_BEGIN, label, flow); }
inline void flow_step(const Label& label, uint64_t flow) noexcept { detail::record(KYMO_FLOW_STEP, label, flow); }
inline void flow_end(const Label& label, uint64_t flow) noexcept { detail::record(KYMO_FLOW_END, label, flow); }

// Names this thread in the trace. The first 47 bytes are kept.
inline void set_thread_name(const std::string& name) noexcept { kymo_set_thread_name(name.c_str()); }

namespace detail {
// A program that links Kymo statically and annotates must link the collector too (KYMO_TRACE starts it).
[[gnu::used]] inline constexpr auto* kLinkCollector = &kymo_link_collector;
}  // namespace detail

}  // namespace kymo
