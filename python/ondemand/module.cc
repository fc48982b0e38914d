// kymo._ondemand: traces that another process asks for, and the steps of the main loop. kymo.ondemand is the interface
// for people. A module of its own, because the agent brings libraries that annotations do not need.
#include <Python.h>

#include <map>
#include <memory>
#include <string>

#include "kymo/ondemand.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

// ---- A client that is a Python object: the methods that it has are called ------------------------------------------

// The Python exception that is set, as text. Clears it.
std::string take_exception() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Owned held_type(type), held_value(value), held_traceback(traceback);
  const Owned text(value != nullptr ? PyObject_Str(value) : nullptr);
  std::string message = value != nullptr ? type_name(value) : "an unknown exception";
  if (text) {
    const Text bytes(text.get(), "exception");
    if (bytes.is_valid() && !bytes.view().empty()) message.append(": ").append(bytes.view());
  }
  PyErr_Clear();
  return message;
}

class PythonClient : public ondemand::Client {
 public:
  explicit PythonClient(PyObject* object) : object_(Owned::share(object)) {}
  ~PythonClient() override {
    const WithGil gil;
    object_ = Owned();
  }

  void init() override { call("init"); }
  void prepare(bool report_input_shapes, bool profile_memory, bool with_stack, bool with_flops,
               bool with_modules) override {
    const WithGil gil;
    const auto truth = [](bool value) { return value ? Py_True : Py_False; };
    const Owned args(PyTuple_Pack(5, truth(report_input_shapes), truth(profile_memory), truth(with_stack),
                                  truth(with_flops), truth(with_modules)));
    call_with("prepare", args);
  }
  void start() override { call("start"); }
  void stop() override { call("stop"); }
  void start_memory_profile() override { call("start_memory_profile"); }
  void stop_memory_profile() override { call("stop_memory_profile"); }
  bool export_memory_profile(const std::string& path) override {
    const WithGil gil;
    const Owned text(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
    const Owned args(text ? PyTuple_Pack(1, text.get()) : nullptr);
    const Owned result = call_with("export_memory_profile", args);
    return result && PyObject_IsTrue(result.get()) == 1;
  }

 private:
  void call(const char* name) {
    const WithGil gil;
    call_with(name, Owned(PyTuple_New(0)));
  }
  // Null if the object has no such method. An exception becomes a kymo::Error with its text.
  Owned call_with(const char* name, const Owned& args) {
    const Owned method(PyObject_GetAttrString(object_.get(), name));
    if (!method && PyErr_ExceptionMatches(PyExc_AttributeError)) {
      PyErr_Clear();
      return Owned();
    }
    Owned result(method && args ? PyObject_Call(method.get(), args.get(), nullptr) : nullptr);
    if (!result) throw Error(std::string("the client's ") + name + "() raised " + take_exception());
    return result;
  }

  Owned object_;
};

// By the address of the Python object, which the client holds. Used with the GIL.
std::map<PyObject*, std::unique_ptr<PythonClient>>& clients() {
  static auto* all = new std::map<PyObject*, std::unique_ptr<PythonClient>>;  // the agent may use it until the end
  return *all;
}

// Any thread may call the methods of the object: the agent's, or the one that starts a trace in code. Both functions
// take the object, hold the GIL, and free it while they wait.
PyObject* add_client(PyObject*, PyObject* object) noexcept {
  return guarded([&]() -> PyObject* {
    std::unique_ptr<PythonClient>& entry = clients()[object];
    if (entry) throw Error("this client is registered already");
    entry = std::make_unique<PythonClient>(object);
    PythonClient& client = *entry;
    try {
      const WithoutGil free;
      ondemand::register_client(client);
    } catch (...) {
      clients().erase(object);
      throw;
    }
    Py_RETURN_NONE;
  });
}

PyObject* remove_client(PyObject*, PyObject* object) noexcept {
  return guarded([&]() -> PyObject* {
    const auto found = clients().find(object);
    if (found == clients().end()) throw Error("this client is not registered");
    std::unique_ptr<PythonClient> client = std::move(found->second);
    clients().erase(found);
    {
      const WithoutGil free;
      ondemand::unregister_client(*client);
      client.reset();
    }
    Py_RETURN_NONE;
  });
}

// ---- The functions of the module -----------------------------------------------------------------------------------

PyObject* none() noexcept {
  Py_INCREF(Py_None);
  return Py_None;
}

PyObject* step(PyObject*, PyObject*) noexcept {
  kymo::step();
  return none();
}

PyObject* steps(PyObject*, PyObject*) noexcept { return PyLong_FromUnsignedLongLong(kymo::steps()); }

PyObject* init(PyObject*, PyObject*) noexcept {
  {
    const WithoutGil free;
    ondemand::init();
  }
  return none();
}

PyObject* prepare(PyObject*, PyObject* args, PyObject* keywords) noexcept {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"report_input_shapes", "profile_memory", "with_stack",
                                        "with_flops",          "with_modules",   nullptr};
    int shapes = 0, memory = 0, stack = 0, flops = 0, modules = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|ppppp:prepare", const_cast<char**>(names), &shapes, &memory,
                                     &stack, &flops, &modules))
      throw PythonErrorSet{};
    {
      const WithoutGil free;
      ondemand::prepare(shapes != 0, memory != 0, stack != 0, flops != 0, modules != 0);
    }
    return none();
  });
}

// Calls `function` without the GIL: it waits for files and for clients, which may be Python's.
template <class Function>
PyObject* call_free(Function&& function) noexcept {
  return guarded([&]() -> PyObject* {
    {
      const WithoutGil free;
      function();
    }
    return none();
  });
}
PyObject* call_with_path(PyObject* path, void (*function)(const std::string&)) noexcept {
  return guarded([&]() -> PyObject* {
    const std::string file = path_argument(path);
    {
      const WithoutGil free;
      function(file);
    }
    return none();
  });
}

PyObject* start(PyObject*, PyObject* path) noexcept { return call_with_path(path, ondemand::start); }
PyObject* stop(PyObject*, PyObject*) noexcept { return call_free(ondemand::stop); }
PyObject* start_memory_profile(PyObject*, PyObject*) noexcept { return call_free(ondemand::start_memory_profile); }
PyObject* stop_memory_profile(PyObject*, PyObject*) noexcept { return call_free(ondemand::stop_memory_profile); }
PyObject* export_memory_profile(PyObject*, PyObject* path) noexcept {
  return call_with_path(path, ondemand::export_memory_profile);
}

PyMethodDef functions[] = {
    {"step", step, METH_NOARGS,
     "step($module)\n--\n\n"
     "Marks the start of one more iteration of the main loop, also in the trace. Costs little more than a call.\n\n"
     ">>> from kymo import ondemand\n>>> before = ondemand.steps()\n>>> ondemand.step()\n"
     ">>> ondemand.steps() - before\n1\n"},
    {"steps", steps, METH_NOARGS, "steps($module)\n--\n\nThe number of calls of step() so far.\n"},
    {"init", init, METH_NOARGS,
     "init($module)\n--\n\n"
     "Starts the agent if KYMO_DAEMON or KINETO_USE_DAEMON is set. The import of kymo does it too.\n"},
    {"prepare", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(prepare)), METH_VARARGS | METH_KEYWORDS,
     "prepare($module, report_input_shapes=False, profile_memory=False, with_stack=False, with_flops=False, "
     "with_modules=False)\n--\n\nSets the options of the next trace of start().\n"},
    {"start", start, METH_O,
     "start($module, path, /)\n--\n\n"
     "Starts a trace, as a request from outside does. The extension selects the format: .kymo, .json, .pftrace, "
     ".csv.\n"},
    {"stop", stop, METH_NOARGS, "stop($module)\n--\n\nEnds the trace of start(). Its file is complete.\n"},
    {"start_memory_profile", start_memory_profile, METH_NOARGS,
     "start_memory_profile($module)\n--\n\nStarts a memory profile: all clients are called."},
    {"stop_memory_profile", stop_memory_profile, METH_NOARGS,
     "stop_memory_profile($module)\n--\n\nEnds it: all clients are called."},
    {"export_memory_profile", export_memory_profile, METH_O,
     "export_memory_profile($module, path, /)\n--\n\n"
     "Writes the memory profile. The extension selects the format: .kymo, .json, .raw.json, .pickle, .html.\n"},
    {"add_client", add_client, METH_O, "add_client(client): its methods are called for each trace."},
    {"remove_client", remove_client, METH_O, "remove_client(client)"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot slots[] = {{0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_ondemand",
    "Traces on demand in C. Use kymo.ondemand.",
    0,
    functions,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace kymo::python

PyMODINIT_FUNC PyInit__ondemand(void) { return PyModuleDef_Init(&kymo::python::definition); }
