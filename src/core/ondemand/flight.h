// The flight recorder: with KYMO_FLIGHT the most recent part is always in memory, for `kymo trigger --last`.
//
// It runs whenever the agent records nothing else. If the program is already recorded into a flight recorder
// (KYMO_TRACE and KYMO_FLIGHT), that one is used.
#pragma once

#include <string>

namespace kymo::ondemand {

// Starts it if KYMO_FLIGHT asks for it and nothing records. Reports no errors: require_flight() does.
void start_flight() noexcept;
void stop_flight() noexcept;

// Throws kymo::Error with what to do if no flight recorder runs.
void require_flight();

void renew_flight_in_child() noexcept;  // after a fork

}  // namespace kymo::ondemand
