// Ranges on a CUDA stream of another library, such as PyTorch's.
//
// The driver calls a function of ours when everything before it on the stream has completed, and that function starts
// or ends a range, as torch.cuda.nvtx does it. CUDA is not linked: a process that has such a stream has loaded the
// driver.
#pragma once

#include <Python.h>

namespace kymo::python {

PyMethodDef* cuda_range_functions() noexcept;

}  // namespace kymo::python
