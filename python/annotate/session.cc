// kymo.Session: a recording of this process, and kymo.dump.
#include "kymo/session.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "annotate/module.h"
#include "collect/own_session.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

struct SessionObject {
  PyObject_HEAD Session* session;  // null: closed
  PyObject* path;
};

// The file of the open session of this process, for session_path(). The GIL protects it.
std::string open_path;
bool is_open = false;
bool is_for_dumps = false;  // a signal dumps to the file

Policy policy_of(std::string_view name) {
  if (name == "block") return Policy::Block;
  if (name == "drop") return Policy::Drop;
  if (name == "overwrite") return Policy::Overwrite;
  throw InvalidArgument("policy is \"" + std::string(name) + "\"; use \"block\", \"drop\" or \"overwrite\"");
}

uint64_t size_argument(PyObject* object, const char* what) {
  const auto size = int_argument(object, what);
  if (!size) throw PythonErrorSet{};
  if (*size < 0)
    throw InvalidArgument(std::string(what) + " is " + std::to_string(*size) +
                          "; it must be a number of bytes, 0 or more");
  return static_cast<uint64_t>(*size);
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) noexcept {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"path",           "policy",      "ring_bytes", "flight_bytes",
                                        "flight_seconds", "dump_signal", nullptr};
    PyObject *path = nullptr, *ring_bytes = nullptr, *flight_bytes = nullptr;
    const char* policy = "block";
    SessionOptions options;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$sOOdi:Session", const_cast<char**>(names), &path, &policy,
                                     &ring_bytes, &flight_bytes, &options.flight_seconds, &options.dump_signal))
      throw PythonErrorSet{};
    options.policy = policy_of(policy);
    if (ring_bytes != nullptr) options.ring_bytes = size_argument(ring_bytes, "ring_bytes");
    if (flight_bytes != nullptr) options.flight_bytes = size_argument(flight_bytes, "flight_bytes");
    const std::string file = path_argument(path);
    if (file.empty()) throw InvalidArgument("path is empty; give the file of the trace: kymo.Session(\"run.kymo\")");
    const bool is_recorded = collect::recorded_from_outside();
    if (is_recorded)
      check(
          PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                           "kymo.Session(\"%s\") does nothing, and this file is not written: kymo record or KYMO_TRACE "
                           "records this process, and that trace has the events",
                           file.c_str()));
    std::unique_ptr<Session> session;
    {
      const WithoutGil free;
      session = std::make_unique<Session>(file, options);
    }
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Owned self = checked(allocate(type, 0));
    auto* object = reinterpret_cast<SessionObject*>(self.get());
    object->session = session.release();
    object->path = Owned::share(path).release();
    if (!is_recorded) {
      open_path = file;
      is_open = true;
      is_for_dumps = options.dump_signal != 0;
    }
    return self.release();
  });
}

// The GIL is free meanwhile: other threads may have to finish what they are recording.
void end(SessionObject& object) {
  const std::unique_ptr<Session> session(std::exchange(object.session, nullptr));
  if (!session) return;
  is_open = false;
  const WithoutGil free;
  session->close();
}

PyObject* close(PyObject* self, PyObject*) noexcept {
  return guarded([&]() -> PyObject* {
    end(*reinterpret_cast<SessionObject*>(self));
    Py_RETURN_NONE;
  });
}

PyObject* enter(PyObject* self, PyObject*) noexcept {
  if (reinterpret_cast<SessionObject*>(self)->session == nullptr) {
    set_error("Error", "this session is closed: make another one with kymo.Session(path)");
    return nullptr;
  }
  Py_INCREF(self);
  return self;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) noexcept { return close(self, nullptr); }

void deallocate(PyObject* self) noexcept {
  auto& object = *reinterpret_cast<SessionObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  try {
    end(object);
  } catch (...) {
    set_current_exception();
    PyErr_WriteUnraisable(nullptr);
  }
  Py_XDECREF(object.path);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* path_of(PyObject* self, void*) noexcept {
  return Owned::share(reinterpret_cast<SessionObject*>(self)->path).release();
}

PyObject* is_closed(PyObject* self, void*) noexcept {
  return PyBool_FromLong(reinterpret_cast<SessionObject*>(self)->session == nullptr ? 1 : 0);
}

PyObject* session_path(PyObject*, PyObject*) noexcept {
  if (!is_open) Py_RETURN_NONE;
  return PyUnicode_DecodeFSDefaultAndSize(open_path.data(), static_cast<Py_ssize_t>(open_path.size()));
}

PyObject* dump(PyObject*, PyObject* path) noexcept {
  return guarded([&]() -> PyObject* {
    const std::string file = path_argument(path);
    if (file.empty()) throw InvalidArgument("path is empty; give the file for the data: kymo.dump(\"last.kymo\")");
    std::error_code absent;
    if (is_open && !is_for_dumps && std::filesystem::equivalent(file, open_path, absent))
      throw InvalidArgument("\"" + file +
                            "\" is the file of the session, which is written when it ends: dump to another one");
    {
      const WithoutGil free;
      kymo::dump(file);
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"close", close, METH_NOARGS,
     "close($self)\n--\n\nStops recording and completes the file. A second call does nothing."},
    {"__enter__", enter, METH_NOARGS, "The session itself."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL, "Closes it."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"path", path_of, nullptr, "The file.", nullptr},
    {"closed", is_closed, nullptr, "True after close().", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>(
                    "Session(path, *, policy=\"block\", ring_bytes=1048576, flight_bytes=0, flight_seconds=0.0, "
                    "dump_signal=0)\n--\n\n"
                    "Records everything that this process annotates, until close() or the end of a with statement.\n\n"
                    "A process has one session at a time. If it is recorded by kymo record or KYMO_TRACE, a session\n"
                    "does nothing, and warns.\n\n"
                    ">>> import kymo\n>>> with kymo.Session(\"run.kymo\"):\n"
                    "...     with kymo.nvtx.range(\"load\"):\n...         pass\n")},
    {0, nullptr},
};

PyType_Spec specification = {"kymo.Session", sizeof(SessionObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                             slots};

PyMethodDef functions[] = {
    {"session_path", session_path, METH_NOARGS, "The file of the open Session of this process; None if there is none."},
    {"dump", dump, METH_O,
     "dump($module, path, /)\n--\n\nWrites the data of the running flight recorder to a file. The recorder continues."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_session(PyObject* module) noexcept {
  ModuleState& state = state_of(module);
  state.session_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &specification, nullptr));
  if (state.session_type == nullptr) return -1;
  if (PyModule_AddObjectRef(module, "Session", reinterpret_cast<PyObject*>(state.session_type)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace kymo::python
