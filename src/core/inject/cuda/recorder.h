// Records the CUDA work of a program through CUPTI while a recording runs.
//
//   the program's thread ──(a call: callback)──▶ kymo_span: the call, on its thread, with CUPTI's correlation
//   the device ──▶ CUPTI's buffer ──(completed)──▶ Queues ──▶ kymo_queue_span: the work, on its stream
//
// CUPTI allows one tool at a time. If another one has it, nothing of CUDA is recorded, and the user is told once.
#pragma once

namespace kymo::inject::cuda {

// Any thread, any number of times. Neither fails.
void start_recording() noexcept;
void stop_recording() noexcept;

}  // namespace kymo::inject::cuda
