// Ranges on a CUDA stream of another library, such as PyTorch's.
//
// The driver calls a function of ours when everything before it on the stream has completed, and that function starts
// or ends a range, as torch.cuda.nvtx does it. CUDA is not linked: a process that has such a stream has loaded the
// driver.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <memory>
#include <string>

#include "annotate/module.h"
#include "kymo/annotate.h"
#include "kymo/error.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

constexpr const char* kCapsule = "kymo.cuda_range";

struct CudaRange {
  std::string message;
  std::atomic<uint64_t> number{0};  // 0: the stream has not reached its start yet
};
using SharedRange = std::shared_ptr<CudaRange>;

// How many libraries this process has loaded so far.
unsigned long long loaded_libraries() noexcept {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

using LaunchHostFunction = int (*)(void* stream, void (*function)(void*), void* data);
LaunchHostFunction find_launch_host_function() noexcept {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  void* found = dlsym(driver, "cuLaunchHostFunc");
  dlclose(driver);  // it stays loaded: the process had it before
  return reinterpret_cast<LaunchHostFunction>(found);
}

// cuLaunchHostFunc of the driver that this process has loaded; null: none. A look for a library that is not there reads
// folders, so it is made again only after a library was loaded. Needs the GIL.
LaunchHostFunction launch_host_function() noexcept {
  static LaunchHostFunction known = nullptr;
  static unsigned long long looked_at = 0;
  if (known != nullptr) return known;
  const unsigned long long loaded = loaded_libraries();
  if (loaded != looked_at) known = find_launch_host_function();
  looked_at = loaded;
  return known;
}

// On a thread of the driver, which must not call CUDA nor Python.
void start_on_stream(void* data) noexcept {
  const std::unique_ptr<SharedRange> range(static_cast<SharedRange*>(data));
  (*range)->number = static_cast<uint64_t>(kymo::range_start((*range)->message));
}
void end_on_stream(void* data) noexcept {
  const std::unique_ptr<SharedRange> range(static_cast<SharedRange*>(data));
  const uint64_t number = (*range)->number.exchange(0);
  if (number != 0) kymo::range_end(RangeId{number});
}

void enqueue(uint64_t stream, void (*function)(void*), const SharedRange& range) {
  const LaunchHostFunction launch = launch_host_function();
  if (launch == nullptr)
    throw NotAvailable("a range on a CUDA stream needs the CUDA driver, and this process has not loaded it");
  auto data = std::make_unique<SharedRange>(range);
  int status = 0;
  {
    const WithoutGil free;
    status = launch(reinterpret_cast<void*>(stream), function, data.get());
  }
  if (status != 0)
    throw DeviceError("CUDA refused a range on stream " + std::to_string(stream) + " with error " +
                      std::to_string(status) + ": is it a stream of the current context?");
  (void)data.release();  // the function has it now
}

PyObject* has_cuda(PyObject*, PyObject*) noexcept { return PyBool_FromLong(launch_host_function() != nullptr ? 1 : 0); }

PyObject* cuda_range_start(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject *message, *stream_object;
    if (!PyArg_ParseTuple(args, "OO", &message, &stream_object)) throw PythonErrorSet{};
    const Text text(message, "_device_range_start: msg");
    const auto stream = uint_argument(stream_object, "_device_range_start: stream");
    if (!text.is_valid() || !stream) throw PythonErrorSet{};
    auto range = std::make_unique<SharedRange>(std::make_shared<CudaRange>());
    (*range)->message = text.view();
    enqueue(*stream, start_on_stream, *range);
    Owned capsule = checked(PyCapsule_New(range.get(), kCapsule, [](PyObject* object) {
      delete static_cast<SharedRange*>(PyCapsule_GetPointer(object, kCapsule));
    }));
    (void)range.release();
    return capsule.release();
  });
}

PyObject* cuda_range_end(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    PyObject *capsule, *stream_object;
    if (!PyArg_ParseTuple(args, "OO", &capsule, &stream_object)) throw PythonErrorSet{};
    const auto stream = uint_argument(stream_object, "_device_range_end: stream");
    auto* range = static_cast<SharedRange*>(PyCapsule_GetPointer(capsule, kCapsule));
    if (!stream || range == nullptr) throw PythonErrorSet{};
    enqueue(*stream, end_on_stream, *range);
    Py_RETURN_NONE;
  });
}

PyObject* is_cuda_range(PyObject*, PyObject* object) noexcept {
  return PyBool_FromLong(PyCapsule_IsValid(object, kCapsule));
}

PyMethodDef functions[] = {
    {"has_cuda", has_cuda, METH_NOARGS, "True if this process has loaded the CUDA driver."},
    {"cuda_range_start", cuda_range_start, METH_VARARGS, "cuda_range_start(msg, stream) -> handle"},
    {"cuda_range_end", cuda_range_end, METH_VARARGS, "cuda_range_end(handle, stream)"},
    {"is_cuda_range", is_cuda_range, METH_O, "True for a handle of cuda_range_start."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_cuda_ranges(PyObject* module) noexcept { return PyModule_AddFunctions(module, functions); }

}  // namespace kymo::python
