// Tells libkymo_inject.so which calls of CUDA are ours. It records the CUDA work of the whole process through CUPTI,
// and leaves out ours, which the runtime records itself.
#pragma once

namespace kymo::device::cuda {

// The count of our calls on this thread, in that library. If it is not loaded, a variable that nobody reads.
int& own_calls() noexcept;

}  // namespace kymo::device::cuda
