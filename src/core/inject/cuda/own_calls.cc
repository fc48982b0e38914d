#include "inject/cuda/own_calls.h"

#include "kymo/export.h"

namespace {

constinit thread_local int own_calls = 0;

}  // namespace

// The address of this thread's count of calls.
extern "C" KYMO_API int* kymo_inject_cuda_calls() { return &own_calls; }

namespace kymo::inject::cuda {

bool is_own_call() noexcept { return own_calls != 0; }

}  // namespace kymo::inject::cuda
