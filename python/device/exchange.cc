#include "device/exchange.h"

#include <utility>

#include "support/errors.h"
#include "support/owned.h"

namespace kymo::python {
namespace {

const dlpack::Exchange* usable(const dlpack::ExchangeHeader* header) {
  while (header != nullptr && header->version.major > dlpack::kVersion.major) header = header->previous;
  if (header == nullptr || header->version.major != dlpack::kVersion.major) return nullptr;
  const auto* exchange = reinterpret_cast<const dlpack::Exchange*>(header);
  return exchange->view_of_object != nullptr && exchange->current_stream != nullptr ? exchange : nullptr;
}

const dlpack::Exchange* find(PyTypeObject* type) {
  const Owned capsule(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), dlpack::kExchangeAttribute));
  if (!capsule) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonErrorSet{};
    PyErr_Clear();
    return nullptr;
  }
  if (PyCapsule_IsValid(capsule.get(), dlpack::kExchangeName) == 0) return nullptr;
  return usable(static_cast<const dlpack::ExchangeHeader*>(
      PyCapsule_GetPointer(capsule.get(), dlpack::kExchangeName)));  // it lives as long as the process
}

[[noreturn]] void raise_error(const char* what) {
  if (PyErr_Occurred() == nullptr)
    PyErr_Format(PyExc_RuntimeError,
                 "the library of this tensor cannot say %s, and gives no reason: pass a copy, kymo.mps.tensor(x)",
                 what);
  throw PythonErrorSet{};
}

}  // namespace

const dlpack::Exchange* exchange_of(PyObject* object) {
  // The last type that has one. The reference keeps its address from being used by another type.
  static std::pair<Owned, const dlpack::Exchange*>* const last = new std::pair<Owned, const dlpack::Exchange*>;
  PyTypeObject* type = Py_TYPE(object);
  if (last->first.get() == reinterpret_cast<PyObject*>(type)) return last->second;
  const dlpack::Exchange* found = find(type);
  if (found != nullptr) *last = {Owned::share(reinterpret_cast<PyObject*>(type)), found};
  return found;
}

dlpack::View view_of(const dlpack::Exchange& exchange, PyObject* object) {
  dlpack::View view{};
  if (exchange.view_of_object(object, &view) != 0) raise_error("where it is");
  return view;
}

uint64_t current_stream_of(const dlpack::Exchange& exchange, const dlpack::Device& device) {
  void* stream = nullptr;
  if (exchange.current_stream(device.type, device.id, &stream) != 0) raise_error("what its current stream is");
  return reinterpret_cast<uint64_t>(stream);
}

}  // namespace kymo::python
