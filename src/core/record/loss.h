// The reasons why an event could not be kept. The numbers are those of trace::LossCause.
#pragma once

#include <cstdint>

namespace kymo::record {

inline constexpr uint32_t kLossRingFull = 1;
inline constexpr uint32_t kLossCollectorStalled = 2;
inline constexpr uint32_t kLossOverwritten = 3;
inline constexpr uint32_t kLossUnmatchedPop = 4;
inline constexpr uint32_t kLossUnknownRange = 5;
inline constexpr uint32_t kLossNoSlot = 6;
inline constexpr uint32_t kLossSignalBufferFull = 7;
inline constexpr uint32_t kLossTextTruncated = 8;
inline constexpr uint32_t kLossClock = 11;

}  // namespace kymo::record
