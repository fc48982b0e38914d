// The amount of work in tests with random or large input: all of it in normal builds, and a part of it under a
// sanitizer, which makes everything ten times slower.
#pragma once

namespace kymo::base {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

template <typename Number>
constexpr Number test_size(Number full) {
  return kIsSanitized ? full / 10 : full;
}

}  // namespace kymo::base
