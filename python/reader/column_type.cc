#include "reader/column_type.h"

#include <new>
#include <utility>
#include <variant>

#include "support/errors.h"

namespace kymo::python {
namespace {

using Values = std::variant<std::vector<int64_t>, std::vector<int32_t>, std::vector<uint16_t>, std::vector<uint8_t>>;

struct Column {
  PyObject_HEAD Values values;
  Py_ssize_t size;  // elements
  Py_ssize_t item;  // bytes of one
};

template <class T>
PyObject* make(PyTypeObject* type, std::vector<T> values) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  Owned object = checked(allocate(type, 0));
  auto* column = reinterpret_cast<Column*>(object.get());
  column->size = static_cast<Py_ssize_t>(values.size());
  column->item = sizeof(T);
  new (&column->values) Values(std::move(values));
  return object.release();
}

void destroy(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<Column*>(self)->values.~Values();
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  auto* column = reinterpret_cast<Column*>(self);
  static constinit uint64_t nothing = 0;
  static const char* const formats[] = {"l", "i", "H", "?"};
  void* data = std::visit([](auto& values) -> void* { return values.data(); }, column->values);
  view->buf = data == nullptr ? &nothing : data;
  view->itemsize = column->item;
  view->len = column->size * column->item;
  view->readonly = 0;
  view->ndim = 1;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(formats[column->values.index()]) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? &column->size : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &column->item : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

Py_ssize_t length(PyObject* self) noexcept { return reinterpret_cast<Column*>(self)->size; }

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Numbers of a trace. numpy.asarray(column) shares their memory.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
    {Py_mp_length, reinterpret_cast<void*>(&length)},
    {0, nullptr},
};

}  // namespace

PyObject* make_column(PyTypeObject* type, std::vector<int64_t> values) { return make(type, std::move(values)); }
PyObject* make_column(PyTypeObject* type, std::vector<int32_t> values) { return make(type, std::move(values)); }
PyObject* make_column(PyTypeObject* type, std::vector<uint16_t> values) { return make(type, std::move(values)); }
PyObject* make_column(PyTypeObject* type, std::vector<uint8_t> values) { return make(type, std::move(values)); }

PyType_Spec column_spec = {"kymo._reader.Column", sizeof(Column), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace kymo::python
