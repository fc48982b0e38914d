// The field numbers of Perfetto's trace messages that Kymo writes. A file is a sequence of packets, each a field
// kPacket.
#pragma once

#include <cstdint>

namespace kymo::convert::perfetto {

inline constexpr uint32_t kPacket = 1;

namespace packet {
enum : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTimestampClockId = 58,
  kDefaults = 59,
  kTrackDescriptor = 60,
  kFirstOnSequence = 87,
};
// Values of kSequenceFlags.
inline constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet

namespace defaults {
enum : uint32_t { kTrackEvent = 11, kTimestampClockId = 58 };
}

namespace clock_snapshot {
enum : uint32_t { kClocks = 1, kPrimaryClock = 2 };
}
namespace clock {
enum : uint32_t { kId = 1, kTimestamp = 2 };
// Values of kId.
inline constexpr uint32_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
}  // namespace clock

namespace track {
enum : uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8,
  kChildOrdering = 11,
  kSiblingOrderRank = 12,
  kDescription = 14,
  kSiblingMerge = 15,
};
inline constexpr uint32_t kExplicitOrder = 3;
inline constexpr uint32_t kNoMerge = 2;  // a value of kSiblingMerge
}  // namespace track
namespace process {
enum : uint32_t { kPid = 1, kCommandLine = 2, kName = 6, kLabels = 8 };
}
namespace thread {
enum : uint32_t { kPid = 1, kTid = 2, kName = 5 };
}
namespace counter {
enum : uint32_t { kCategories = 2, kUnit = 3 };
inline constexpr uint32_t kBytes = 3;
}  // namespace counter

namespace event {
enum : uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kName = 23,
  kCounterValue = 30,
  kDoubleCounterValue = 44,
  kFlowIds = 47,
  kTerminatingFlowIds = 48,
  kCorrelationId = 52,
};
// Values of kType.
inline constexpr uint32_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace event

namespace annotation {
enum : uint32_t { kNameIid = 1, kBool = 2, kUInt = 3, kInt = 4, kDouble = 5, kString = 6, kPointer = 7 };
}

namespace interned {
enum : uint32_t { kCategories = 1, kEventNames = 2, kAnnotationNames = 3 };
enum : uint32_t { kIid = 1, kName = 2 };
}  // namespace interned

}  // namespace kymo::convert::perfetto
