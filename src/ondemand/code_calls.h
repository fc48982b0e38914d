// Traces and memory profiles that the code asks for itself: the calls of kymo/ondemand.h.
#pragma once

namespace kymo::ondemand {

void forget_code_calls() noexcept;  // in a forked child
void drop_code_calls() noexcept;    // the program ends: what nobody asked for goes

}  // namespace kymo::ondemand
