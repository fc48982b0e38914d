// DLPack: tensors of one library in another, without a copy. Capsules of both layouts are read and written: the old one
// ("dltensor") and the versioned one ("dltensor_versioned").
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>

#include "device/types.h"

// The structures of DLPack, as other libraries lay them out.
namespace kymo::python::dlpack {

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct View {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: packed, in row-major order
  uint64_t byte_offset;
};

struct Managed {
  View view;
  void* context;
  void (*deleter)(Managed*);
};

struct Version {
  uint32_t major, minor;
};
struct VersionedManaged {
  Version version;
  void* context;
  void (*deleter)(VersionedManaged*);
  uint64_t flags;
  View view;
};

// The functions of a library in C, from version 1.3 on: an attribute of its type of tensors. All of them return 0, or
// -1 with a Python exception set, and none orders streams.
struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;  // the table of an older major version; may be null
};
struct Exchange {
  ExchangeHeader header;
  int (*allocate)(View* like, VersionedManaged** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, VersionedManaged** out);
  int (*object_from_managed)(VersionedManaged* managed, void** out);
  int (*view_of_object)(void* object, View* out);  // may be null. Valid as long as the object is not changed
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};
inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char* kExchangeName = "dlpack_exchange_api";

inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
inline constexpr Version kVersion{1, 0};
inline constexpr const char* kName = "dltensor";
inline constexpr const char* kUsedName = "used_dltensor";
inline constexpr const char* kVersionedName = "dltensor_versioned";
inline constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

}  // namespace kymo::python::dlpack

namespace kymo::python {

// Where DLPack says that a tensor is. Tensors that host code may use directly are on the CPU for other libraries.
enum class DlpackDevice : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, OpenCl = 4, Vulkan = 7, CudaManaged = 13 };

// __dlpack_device__() of a tensor: (type, id).
PyObject* dlpack_device(const device::Tensor& tensor);

// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject* to_dlpack(const device::Tensor& tensor, PyObject* stream, PyObject* max_version, PyObject* dl_device,
                    PyObject* copy);

// A tensor from an object with __dlpack__ and __dlpack_device__, or from a capsule. `device`: None, or where the tensor
// should be. `copy`: None (only if needed), True or False (BufferError if needed). Work of the device's current stream
// runs after the work that the other library has queued.
device::Tensor from_dlpack(PyObject* object, PyObject* device, PyObject* copy);

// A tensor of another library as the argument of one launch on `stream`. It does not wait for anything when it ends, so
// the caller must order the streams and then drop the owner.
struct BorrowedTensor {
  device::Tensor tensor;
  std::shared_ptr<void> owner;
};
// By __dlpack__(), which makes `stream` wait for the other library. The tensor must be on CUDA.
BorrowedTensor borrow_dlpack(PyObject* object, const device::Stream& stream);
// The same from a description, whose streams the caller orders before the launch too.
device::Tensor borrow_view(const dlpack::View& view, const device::Device& device);

bool is_cuda(const dlpack::Device& where) noexcept;

// The quick way to tensors of other libraries: DLPack's table of C functions (DLPack 1.3, in newer libraries), for the
// arguments of a launch. It makes no objects, and does not call Python code as __dlpack__() does.

// The functions of the library of this tensor; null: it has none that Kymo can use. Looked up once for each type.
const dlpack::Exchange* exchange_of(PyObject* object);

// Where the tensor is now. It stays valid while the caller holds the object and runs no other code. Throws
// PythonErrorSet.
dlpack::View view_of(const dlpack::Exchange& exchange, PyObject* object);

// The handle of the stream on which the library queues its next work on this device. Throws PythonErrorSet.
uint64_t current_stream_of(const dlpack::Exchange& exchange, const dlpack::Device& device);

}  // namespace kymo::python
