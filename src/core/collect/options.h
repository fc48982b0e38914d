// The options of a session, checked and converted for the lower layers.
#pragma once

#include <string>

#include "collect/output.h"
#include "kymo/session.h"
#include "record/segment.h"

namespace kymo::collect {

struct SessionId {
  uint8_t bytes[16];
};
SessionId new_session_id();

// Throws kymo::InvalidArgument with the value that is out of range. A flight recorder always overwrites, and the policy
// Overwrite always means a flight recorder: each sets the other.
SessionOptions checked(SessionOptions options);

FlightOptions flight_options(const SessionOptions& options);
const char* policy_name(Policy policy);
record::SegmentOptions segment_options(const SessionOptions& options, const SessionId& session);

// KYMO_POLICY, KYMO_FLIGHT and KYMO_RING_BYTES.
KYMO_API SessionOptions options_from_environment();

}  // namespace kymo::collect
