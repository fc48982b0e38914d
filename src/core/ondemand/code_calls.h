// Traces and memory profiles that the program's code requests itself: the calls of kymo/ondemand.h.
#pragma once

namespace kymo::ondemand {

void forget_code_calls() noexcept;  // in a forked child
void drop_code_calls() noexcept;    // the program ends: drops results that were not exported

}  // namespace kymo::ondemand
