// kymo._ondemand: traces that another process asks for, and the steps of the main loop. kymo.ondemand is the interface
// for people. A module of its own, because the agent brings libraries that annotations do not need.
#include <Python.h>

#include "kymo/ondemand.h"
#include "ondemand/python_client.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

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
