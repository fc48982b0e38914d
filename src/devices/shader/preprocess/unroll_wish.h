// What a pragma asks of the loop that follows it: how many rounds to write one after another.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::shader {

inline constexpr uint16_t kNoUnrollWish = 0, kNeverUnroll = 1, kUnrollAll = UINT16_MAX;

// The text of the pragma: "unroll", "unroll 4", "unroll(4)", "nounroll", "clang loop unroll(full)", "clang loop
// unroll_count(4)" and similar ones. kNoUnrollWish: it is another pragma.
uint16_t unroll_wish(std::string_view pragma);

}  // namespace kymo::shader
