// The field numbers of Perfetto's trace messages that Kymo writes and reads. A file is a sequence of packets, each a
// field kPacket.
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
  kPreviousDropped = 42,
  kCompressedPackets = 50,
  kTimestampClockId = 58,
  kDefaults = 59,
  kTrackDescriptor = 60,
  kPerfSample = 66,
  kFirstOnSequence = 87,
  kZstdCompressedPackets = 133,
};
inline constexpr uint32_t kStateCleared = 1, kNeedsState = 2;  // of kSequenceFlags
}  // namespace packet

namespace defaults {
enum : uint32_t { kTrackEvent = 11, kPerfSample = 12, kTimestampClockId = 58 };
}

namespace clock_snapshot {
enum : uint32_t { kClocks = 1, kPrimaryClock = 2 };
}
namespace clock {
enum : uint32_t { kId = 1, kTimestamp = 2, kIsIncremental = 3, kMultiplier = 4 };
inline constexpr uint32_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;  // values of kId
inline constexpr uint32_t kFirstOfSequence = 64, kFirstCustom = 128;
}  // namespace clock

namespace track {
enum : uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8,
  kStaticName = 10,
  kChildOrdering = 11,
  kSiblingOrderRank = 12,
  kDescription = 14,
  kSiblingMerge = 15,
};
inline constexpr uint32_t kExplicitOrder = 3;  // of kChildOrdering
inline constexpr uint32_t kNoMerge = 2;        // of kSiblingMerge
}  // namespace track
namespace process {
enum : uint32_t { kPid = 1, kCommandLine = 2, kName = 6, kLabels = 8 };
}
namespace thread {
enum : uint32_t { kPid = 1, kTid = 2, kName = 5 };
}
namespace counter {
enum : uint32_t { kType = 1, kCategories = 2, kUnit = 3, kMultiplier = 4, kIsIncremental = 5 };
inline constexpr uint32_t kBytes = 3;                              // of kUnit
inline constexpr uint32_t kThreadTime = 1, kInstructionCount = 2;  // of kType
}  // namespace counter

namespace event {
enum : uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kExtraCounterValues = 12,
  kCategories = 22,
  kName = 23,
  kCounterValue = 30,
  kExtraCounterTracks = 31,
  kSourceLocation = 33,
  kSourceLocationIid = 34,
  kOldFlowIds = 36,
  kOldTerminatingFlowIds = 42,
  kDoubleCounterValue = 44,
  kExtraDoubleCounterTracks = 45,
  kExtraDoubleCounterValues = 46,
  kFlowIds = 47,
  kTerminatingFlowIds = 48,
  kCorrelationId = 52,
};
inline constexpr uint32_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;  // of kType
}  // namespace event

// The form of Chrome's JSON events, of before there were tracks.
namespace annotation {
enum : uint32_t {
  kNameIid = 1,
  kBool = 2,
  kUInt = 3,
  kInt = 4,
  kDouble = 5,
  kString = 6,
  kPointer = 7,
  kJson = 9,
  kName = 10,
  kDictEntries = 11,
  kArrayValues = 12,
  kStringIid = 17,
};
}

namespace interned {
enum : uint32_t { kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kSourceLocations = 4, kStrings = 29 };
enum : uint32_t { kFunctionNames = 5, kFrames = 6, kCallstacks = 7, kMappingPaths = 17, kMappings = 19 };
enum : uint32_t { kIid = 1, kName = 2 };
}  // namespace interned
namespace stack_frame {
enum : uint32_t { kIid = 1, kFunctionName = 2, kMapping = 3, kOffset = 4 };
}
namespace callstack {
enum : uint32_t { kIid = 1, kFrameIds = 2 };
}
namespace code_mapping {
enum : uint32_t { kIid = 1, kPathIds = 7 };
}
namespace perf_defaults {
enum : uint32_t { kTimebase = 1 };
}
namespace timebase {
enum : uint32_t { kPeriod = 1, kFrequency = 2, kCounter = 4 };
inline constexpr uint32_t kCpuClock = 1;  // of kCounter
}  // namespace timebase
namespace perf_sample {
enum : uint32_t { kPid = 2, kTid = 3, kCallstack = 4 };
}
namespace source_location {
enum : uint32_t { kIid = 1, kFile = 2, kFunction = 3, kLine = 4 };
}

}  // namespace kymo::convert::perfetto
