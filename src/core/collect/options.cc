#include "collect/options.h"

#include <signal.h>
#include <sys/random.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "base/units.h"

namespace kymo::collect {
namespace {

constexpr uint64_t kDefaultFlightBytes = 64 << 20;
constexpr uint64_t kLeastFlightBytes = 1'000'000;

// The numbers in segments.
static_assert(static_cast<uint32_t>(Policy::Block) == static_cast<uint32_t>(record::RingPolicy::Block));
static_assert(static_cast<uint32_t>(Policy::Drop) == static_cast<uint32_t>(record::RingPolicy::Drop));
static_assert(static_cast<uint32_t>(Policy::Overwrite) == static_cast<uint32_t>(record::RingPolicy::Overwrite));

}  // namespace

SessionId new_session_id() {
  SessionId id;
  if (getrandom(id.bytes, sizeof id.bytes, 0) != sizeof id.bytes)
    throw Error("the system has no random numbers to give");
  return id;
}

SessionOptions checked(SessionOptions options) {
  const uint64_t ring = options.ring_bytes;
  if (ring < record::kMinRingBytes || ring > record::kMaxRingBytes || (ring & (ring - 1)) != 0)
    throw InvalidArgument(
        base::format("a ring of {} bytes is out of range; use a power of two from 65536 to 67108864", ring));
  if (std::isnan(options.flight_seconds) || options.flight_seconds < 0 || options.flight_seconds > 86400)
    throw InvalidArgument(base::format("a flight recorder of {} seconds: want 0 to 86400", options.flight_seconds));
  if (options.flight_bytes != 0 && options.flight_bytes < kLeastFlightBytes)
    throw InvalidArgument(
        base::format("a flight recorder of {} bytes: want {} at least", options.flight_bytes, kLeastFlightBytes));
  if (options.dump_signal < 0 || options.dump_signal >= NSIG || options.dump_signal == SIGKILL ||
      options.dump_signal == SIGSTOP)
    throw InvalidArgument(base::format("signal {} cannot ask for a dump", options.dump_signal));
  const bool flight = options.flight_bytes != 0 || options.flight_seconds != 0;
  if (flight) options.policy = Policy::Overwrite;
  if (options.policy == Policy::Overwrite && !flight) options.flight_bytes = kDefaultFlightBytes;
  return options;
}

FlightOptions flight_options(const SessionOptions& options) { return {options.flight_bytes, options.flight_seconds}; }

const char* policy_name(Policy policy) {
  switch (policy) {
    case Policy::Drop:
      return "drop";
    case Policy::Overwrite:
      return "overwrite";
    case Policy::Block:
      break;
  }
  return "block";
}

record::SegmentOptions segment_options(const SessionOptions& options, const SessionId& session) {
  record::SegmentOptions made;
  std::memcpy(made.session, session.bytes, sizeof made.session);
  made.ring_bytes = options.ring_bytes;
  made.policy = static_cast<record::RingPolicy>(options.policy);
  return made;
}

SessionOptions options_from_environment() {
  SessionOptions options;
  if (const char* policy = base::environment("KYMO_POLICY"); policy != nullptr && *policy != '\0') {
    const std::string_view word = policy;
    if (word == "drop")
      options.policy = Policy::Drop;
    else if (word == "overwrite")
      options.policy = Policy::Overwrite;
    else if (word != "block")
      throw InvalidArgument(base::format("KYMO_POLICY={}: want block, drop or overwrite", policy));
  }
  if (const char* flight = base::environment("KYMO_FLIGHT"); flight != nullptr && *flight != '\0') {
    const base::Flight kept = base::parse_flight(flight);
    options.flight_seconds = kept.seconds;
    options.flight_bytes = kept.bytes;
  }
  if (const char* ring = base::environment("KYMO_RING_BYTES"); ring != nullptr && *ring != '\0')
    options.ring_bytes = std::strtoull(ring, nullptr, 10);
  return checked(options);
}

}  // namespace kymo::collect
