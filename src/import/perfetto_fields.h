// The field numbers of Perfetto's trace messages that Kymo reads, and a reader of fields that checks their types.
#pragma once

#include <bit>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace kymo::import::perfetto {

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
};
inline constexpr uint64_t kStateCleared = 1, kNeedsState = 2;  // of kSequenceFlags
}  // namespace packet

namespace clock_snapshot {
enum : uint32_t { kClocks = 1, kPrimaryClock = 2 };
}
namespace clock {
enum : uint32_t { kId = 1, kTimestamp = 2, kIsIncremental = 3, kMultiplier = 4 };
inline constexpr uint32_t kRealtime = 1, kBoottime = 6;  // values of kId
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
  kDescription = 14
};
}
namespace process {
enum : uint32_t { kPid = 1, kCommandLine = 2, kName = 6 };
}
namespace thread {
enum : uint32_t { kPid = 1, kTid = 2, kName = 5 };
}
namespace counter {
enum : uint32_t { kType = 1, kCategories = 2, kUnit = 3, kMultiplier = 4, kIsIncremental = 5 };
inline constexpr uint64_t kBytes = 3;                              // of kUnit
inline constexpr uint64_t kThreadTime = 1, kInstructionCount = 2;  // of kType
}  // namespace counter

namespace event {
enum : uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kLegacy = 6,
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
inline constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;  // of kType
}  // namespace event

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
enum : uint32_t { kIid = 1, kText = 2 };
}  // namespace interned
namespace source_location {
enum : uint32_t { kIid = 1, kFile = 2, kFunction = 3, kLine = 4 };
}

// One field of a message: a number, or bytes.
struct Field {
  uint32_t tag = 0;
  protozero::pbf_wire_type type = protozero::pbf_wire_type::unknown;
  uint64_t number = 0;
  std::string_view bytes;

  bool is_bytes() const { return type == protozero::pbf_wire_type::length_delimited; }
  bool is_number() const { return !is_bytes(); }
  double real() const { return std::bit_cast<double>(number); }  // of a fixed64 field
};

// The fields of a message. next() throws protozero::exception if the message is not valid.
class Fields {
 public:
  explicit Fields(std::string_view message) : reader_(message.data(), message.size()) {}

  bool next(Field& field) {
    if (!reader_.next()) return false;
    field.tag = reader_.tag();
    field.type = reader_.wire_type();
    field.number = 0;
    field.bytes = {};
    switch (field.type) {
      case protozero::pbf_wire_type::varint:
        field.number = reader_.get_uint64();
        break;
      case protozero::pbf_wire_type::fixed64:
        field.number = reader_.get_fixed64();
        break;
      case protozero::pbf_wire_type::fixed32:
        field.number = reader_.get_fixed32();
        break;
      case protozero::pbf_wire_type::length_delimited: {
        const protozero::data_view view = reader_.get_view();
        field.bytes = {view.data(), view.size()};
        break;
      }
      default:
        reader_.skip();  // throws
    }
    return true;
  }

 private:
  protozero::pbf_reader reader_;
};

// Calls take(number) for a repeated number, which is one field each or a list in one field.
template <typename Take>
void for_each_number(const Field& field, bool is_fixed64, Take&& take) {
  if (field.is_number()) return take(field.number);
  const char* at = field.bytes.data();
  const char* const end = at + field.bytes.size();
  while (at != end) {
    if (!is_fixed64) {
      take(protozero::decode_varint(&at, end));
      continue;
    }
    if (end - at < 8) throw protozero::end_of_buffer_exception{};
    uint64_t number = 0;
    for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<uint8_t>(at[i]);
    at += 8;
    take(number);
  }
}

}  // namespace kymo::import::perfetto
