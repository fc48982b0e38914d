// Whether a step succeeded, and if not, one line that says why.
//
// For code that may not throw or allocate, because it runs inside malloc and in signal handlers. The text is a part of
// the value; a longer one is cut off. Costs one store if the step succeeded.
//
//   if (const Outcome made = ensure_segment(shared); !made) send_refusal(session, made.why());
#pragma once

#include <cstddef>

namespace kymo::record {

class [[nodiscard]] Outcome {
 public:
  Outcome() noexcept { text_[0] = '\0'; }  // success
  // The text is as printf() would write it, and not empty.
  [[gnu::format(printf, 1, 2)]] static Outcome failure(const char* format, ...) noexcept;

  explicit operator bool() const noexcept { return text_[0] == '\0'; }
  const char* why() const noexcept { return text_; }  // empty: it succeeded

  // For several attempts that all failed: appends the reason of another one.
  void add(const Outcome& other) noexcept;

 private:
  static constexpr size_t kTextBytes = 1024;
  char text_[kTextBytes];
};

}  // namespace kymo::record
