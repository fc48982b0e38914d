// The flight recorder: with KYMO_FLIGHT the last part is always in memory, for `kymo trigger --last`.
//
// It runs whenever nothing else of the agent's records. A program that is recorded into a flight recorder anyway
// (KYMO_TRACE and KYMO_FLIGHT) has that one.
#pragma once

#include <string>

namespace kymo::ondemand {

// Starts it where KYMO_FLIGHT asks for it and nothing records. Says nothing where it cannot be: require_flight() does.
void start_flight() noexcept;
void stop_flight() noexcept;

// Throws kymo::Error with what to do where none runs.
void require_flight();

void renew_flight_in_child() noexcept;  // after a fork

}  // namespace kymo::ondemand
