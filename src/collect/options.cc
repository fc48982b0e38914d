#include "collect/options.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace kymo::collect {
namespace {

constexpr uint64_t kDefaultFlightBytes = 64 << 20;
constexpr uint64_t kLeastFlightBytes = 1'000'000;

struct Unit {
  std::string_view name;
  double factor;
  bool time;
};
constexpr std::array<Unit, 13> kUnits{{{"ms", 1e-3, true},
                                       {"s", 1, true},
                                       {"m", 60, true},
                                       {"min", 60, true},
                                       {"h", 3600, true},
                                       {"B", 1, false},
                                       {"kB", 1e3, false},
                                       {"KB", 1e3, false},
                                       {"MB", 1e6, false},
                                       {"GB", 1e9, false},
                                       {"KiB", 1024, false},
                                       {"MiB", 1 << 20, false},
                                       {"GiB", 1 << 30, false}}};

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
    throw InvalidArgument(fmt::format("a ring of {} bytes: want a power of two from 65536 to 67108864", ring));
  if (std::isnan(options.flight_seconds) || options.flight_seconds < 0 || options.flight_seconds > 86400)
    throw InvalidArgument(fmt::format("a flight recorder of {} seconds: want 0 to 86400", options.flight_seconds));
  if (options.flight_bytes != 0 && options.flight_bytes < kLeastFlightBytes)
    throw InvalidArgument(
        fmt::format("a flight recorder of {} bytes: want {} at least", options.flight_bytes, kLeastFlightBytes));
  if (options.dump_signal < 0 || options.dump_signal >= NSIG || options.dump_signal == SIGKILL ||
      options.dump_signal == SIGSTOP)
    throw InvalidArgument(fmt::format("signal {} cannot ask for a dump", options.dump_signal));
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
  made.policy = options.policy == Policy::Drop        ? record::RingPolicy::Drop
                : options.policy == Policy::Overwrite ? record::RingPolicy::Overwrite
                                                      : record::RingPolicy::Block;
  return made;
}

void parse_flight(const std::string& text, SessionOptions& into) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& known : kUnits) {
    if (error != std::errc{} || unit != known.name || !(amount > 0)) continue;
    if (known.time)
      into.flight_seconds = amount * known.factor;
    else
      into.flight_bytes = static_cast<uint64_t>(amount * known.factor);
    return;
  }
  throw InvalidArgument(fmt::format("'{}' is neither a time nor a size: want 30s, 500ms, 2m, 64MB or 1GiB", text));
}

SessionOptions options_from_environment() {
  SessionOptions options;
  if (const char* policy = std::getenv("KYMO_POLICY"); policy != nullptr && *policy != '\0') {
    const std::string_view word = policy;
    if (word == "drop")
      options.policy = Policy::Drop;
    else if (word == "overwrite")
      options.policy = Policy::Overwrite;
    else if (word != "block")
      throw InvalidArgument(fmt::format("KYMO_POLICY={}: want block, drop or overwrite", policy));
  }
  if (const char* flight = std::getenv("KYMO_FLIGHT"); flight != nullptr && *flight != '\0')
    parse_flight(flight, options);
  if (const char* ring = std::getenv("KYMO_RING_BYTES"); ring != nullptr && *ring != '\0')
    options.ring_bytes = std::strtoull(ring, nullptr, 10);
  return checked(options);
}

}  // namespace kymo::collect
