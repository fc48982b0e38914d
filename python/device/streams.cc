// The types Stream and Event.
#include <string>

#include "device/types.h"
#include "support/arguments.h"

namespace kymo::python {
namespace {

device::Stream& stream_of(PyObject* self) { return reinterpret_cast<StreamObject*>(self)->value; }
device::Event& event_of(PyObject* self) { return reinterpret_cast<EventObject*>(self)->value; }

// ---- Stream --------------------------------------------------------------------------------------------------------

PyObject* stream_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* device = Py_None;
    static const char* names[] = {"device", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|O:Stream", const_cast<char**>(names), &device) == 0)
      return nullptr;
    const device::Device where = device_argument(device);
    return new_object<StreamObject>(type, without_gil([&] { return device::Stream(where); }));
  });
}

PyObject* stream_synchronize(PyObject* self, PyObject*) {
  return guarded([&] {
    without_gil([&] { stream_of(self).synchronize(); });
    return Owned::share(Py_None).release();
  });
}
PyObject* stream_query(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(without_gil([&] { return stream_of(self).query(); })); });
}

PyObject* event_argument(PyObject* object, const char* what) {
  if (PyObject_TypeCheck(object, types.event)) return object;
  set_type_error(what, "Event", object);
  throw PythonErrorSet{};
}

PyObject* stream_record_event(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* event = Py_None;
    if (PyArg_ParseTuple(args, "|O:record_event", &event) == 0) return nullptr;
    Owned made = event == Py_None
                     ? checked(new_object<EventObject>(types.event, device::Event(false, stream_of(self).device())))
                     : Owned::share(event_argument(event, "record_event: event"));
    without_gil([&] { event_of(made.get()).record(stream_of(self)); });
    return made.release();
  });
}
PyObject* stream_wait_event(PyObject* self, PyObject* event) {
  return guarded([&] {
    event_argument(event, "wait_event: event");
    without_gil([&] { event_of(event).wait(stream_of(self)); });
    return Owned::share(Py_None).release();
  });
}
PyObject* stream_wait_stream(PyObject* self, PyObject* other) {
  return guarded([&] {
    const device::Stream before = stream_argument(other, "wait_stream: stream");
    without_gil([&] {
      device::Event point(false, before.device());
      point.record(before);
      point.wait(stream_of(self));
    });
    return Owned::share(Py_None).release();
  });
}

PyObject* stream_id(PyObject* self, void*) { return PyLong_FromUnsignedLong(stream_of(self).id()); }
PyObject* stream_device(PyObject* self, void*) {
  return guarded([&] { return to_python(stream_of(self).device().name()); });
}
PyObject* stream_handle(PyObject* self, void*) {
  return guarded(
      [&] { return PyLong_FromUnsignedLongLong(without_gil([&] { return stream_of(self).native_handle(); })); });
}

PyObject* stream_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !PyObject_TypeCheck(other, types.stream)) {
    return Owned::share(Py_NotImplemented).release();
  }
  return PyBool_FromLong((stream_of(self) == stream_of(other)) == (operation == Py_EQ));
}
Py_hash_t stream_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&stream_of(self).state()) >> 4);
}
PyObject* stream_repr(PyObject* self) {
  return guarded([&] {
    return to_python("<kymo.mps.Stream " + std::to_string(stream_of(self).id()) + " of " +
                     stream_of(self).device().name() + ">");
  });
}

PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS, "synchronize(): waits for all work on the stream."},
    {"query", stream_query, METH_NOARGS, "query(): whether all work on the stream has completed."},
    {"record_event", stream_record_event, METH_VARARGS, "record_event(event=None): records an event, and returns it."},
    {"wait_event", stream_wait_event, METH_O, "wait_event(event): later work on the stream waits for the event."},
    {"wait_stream", stream_wait_stream, METH_O,
     "wait_stream(stream): later work on this stream waits for the work that is now on the other."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef stream_attributes[] = {
    {"stream_id", stream_id, nullptr, "0: the default stream.", nullptr},
    {"device", stream_device, nullptr, "The name of its device.", nullptr},
    {"cuda_stream", stream_handle, nullptr, "The CUstream, for torch.cuda.ExternalStream; 0 on other devices.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot stream_slots[] = {
    {Py_tp_doc, const_cast<char*>("Stream(device=None): a queue of device work, which runs in order.")},
    {Py_tp_new, reinterpret_cast<void*>(&stream_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&delete_object<StreamObject>)},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_attributes},
    {Py_tp_richcompare, reinterpret_cast<void*>(&stream_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(&stream_hash)},
    {Py_tp_repr, reinterpret_cast<void*>(&stream_repr)},
    {0, nullptr},
};

// ---- Event ---------------------------------------------------------------------------------------------------------

PyObject* event_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    int timing = 0;
    static const char* names[] = {"enable_timing", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|p:Event", const_cast<char**>(names), &timing) == 0)
      return nullptr;
    return new_object<EventObject>(type, without_gil([&] { return device::Event(timing != 0); }));
  });
}

template <void (device::Event::*Action)(device::Stream)>
PyObject* event_on_stream(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* stream = Py_None;
    static const char* names[] = {"stream", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|O", const_cast<char**>(names), &stream) == 0) return nullptr;
    const device::Stream where = stream_argument(stream, "stream");
    without_gil([&] { (event_of(self).*Action)(where); });
    return Owned::share(Py_None).release();
  });
}

PyObject* event_query(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(without_gil([&] { return event_of(self).query(); })); });
}
PyObject* event_synchronize(PyObject* self, PyObject*) {
  return guarded([&] {
    without_gil([&] { event_of(self).synchronize(); });
    return Owned::share(Py_None).release();
  });
}
PyObject* event_elapsed_time(PyObject* self, PyObject* end) {
  return guarded([&] {
    event_argument(end, "elapsed_time: end_event");
    return PyFloat_FromDouble(without_gil([&] { return event_of(self).elapsed_time(event_of(end)); }));
  });
}

PyCFunction with_keywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef event_methods[] = {
    {"record", with_keywords(event_on_stream<&device::Event::record>), METH_VARARGS | METH_KEYWORDS,
     "record(stream=None): after all work that is in the stream now; None: the current stream."},
    {"wait", with_keywords(event_on_stream<&device::Event::wait>), METH_VARARGS | METH_KEYWORDS,
     "wait(stream=None): later work of the stream waits for the event."},
    {"query", event_query, METH_NOARGS, "query(): whether the event was recorded and has been reached."},
    {"synchronize", event_synchronize, METH_NOARGS, "synchronize(): waits until the event is reached."},
    {"elapsed_time", event_elapsed_time, METH_O, "elapsed_time(end_event): milliseconds from this event to the other."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot event_slots[] = {
    {Py_tp_doc, const_cast<char*>("Event(enable_timing=False): a point in a stream.")},
    {Py_tp_new, reinterpret_cast<void*>(&event_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&delete_object<EventObject>)},
    {Py_tp_methods, event_methods},
    {0, nullptr},
};

}  // namespace

PyType_Spec stream_spec = {"kymo.mps.Stream", sizeof(StreamObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           stream_slots};
PyType_Spec event_spec = {"kymo.mps.Event", sizeof(EventObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                          event_slots};

}  // namespace kymo::python
