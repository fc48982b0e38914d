// The types of Kymo's messages, and the limits for all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::wire {

// Numbers are never reused; 20 and 21 were used by version 1. Numbers from 0x8000 are reserved for private use.
enum class MessageType : uint16_t {
  Hello = 1,
  Welcome = 2,
  Refused = 3,
  Ping = 4,
  Pong = 5,

  Start = 16,
  Cancel = 17,
  Status = 18,
  Done = 19,
  Step = 22,
  Stop = 23,

  List = 32,
  ListReply = 33,
  Trigger = 34,
  TriggerReply = 35,
  TriggerUpdate = 36,
  CancelTrigger = 37,
  Doctor = 38,
  DoctorReply = 39,
  History = 40,
  HistoryReply = 41,
  StopTrigger = 42,
};

inline constexpr size_t kLargestMessage = 64 * 1024;  // with the header
inline constexpr size_t kLongestText = 4096;          // a path, a command line, an explanation
inline constexpr size_t kMaxItems = 1024;             // max items in a list
inline constexpr uint64_t kLongestTraceNs = 7ull * 24 * 3600 * 1'000'000'000;
inline constexpr uint32_t kWholeProgress = 1000;  // thousandths

}  // namespace kymo::wire
