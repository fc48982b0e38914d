// Events of NCCL as ranges of the trace.
//
//   collective, send, receive   from the call that queues it, on its thread, until all channels of its kernel have
//                               stopped
//   step of a channel           on NCCL's thread: a range for each of its states, so that waiting for the GPU, waiting
//                               for the peer, and transfer can be told apart
//
// NCCL uses a handle after it has stopped the event, and there is no sign when it does so for the last time. So a
// handle is a number in a table of fixed size. If an event is replaced in the table, its handle is not valid any more.
#pragma once

#include <cstdint>

#include "inject/nccl/abi.h"
#include "inject/nccl/communicators.h"

namespace kymo::inject::nccl {

// A handle, or null if nothing records, the event is not recorded, or the table is full of unfinished events.
void* start_event(const Communicator& communicator, const Description& description, uint64_t kind) noexcept;
void stop_event(void* handle) noexcept;
void change_state(void* handle, int state, const StateArguments* arguments) noexcept;

}  // namespace kymo::inject::nccl
