// kymo._reader: trace files in C. kymo.open is the interface for people.
#include <Python.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "analyze/losses.h"
#include "analyze/stats.h"
#include "analyze/summary.h"
#include "base/printable.h"
#include "reader/arrow.h"
#include "reader/catalogue.h"
#include "reader/column_type.h"
#include "reader/columns.h"
#include "reader/loose_ranges.h"
#include "support/arguments.h"
#include "support/errors.h"
#include "trace/append_file.h"

namespace kymo::python {
namespace {

struct OpenTrace {
  // It is asked for first: a recording that ends meanwhile is not one that was killed.
  OpenTrace(const std::string& path, bool is_being_written)
      : was_written(is_being_written || trace::is_being_written(path)), reader(path), catalogue(reader) {
    reader.set_being_written(was_written);
  }
  bool was_written;
  trace::Reader reader;
  Catalogue catalogue;

  // Read when they are used first. Without the GIL: several threads may ask for them.
  const LooseRanges& loose() {
    std::call_once(loose_once_, [this] { loose_ = read_loose_ranges(reader, catalogue); });
    return loose_;
  }

 private:
  std::once_flag loose_once_;
  LooseRanges loose_;
};

struct TraceObject {
  PyObject_HEAD std::shared_ptr<OpenTrace>
      open;  // null: closed. A call in another thread keeps it until it has finished.
};

struct State {
  PyTypeObject* trace = nullptr;
  PyTypeObject* column = nullptr;
};

State& state_of(PyTypeObject* type) { return *static_cast<State*>(PyType_GetModuleState(type)); }

std::shared_ptr<OpenTrace> open_trace(PyObject* self) {
  auto open = reinterpret_cast<TraceObject*>(self)->open;
  if (open == nullptr) {
    PyErr_SetString(PyExc_ValueError, "this trace is closed: open it again with kymo.open()");
    throw PythonErrorSet{};
  }
  return open;
}

Owned text_of(std::string_view untrusted) {
  const std::string text = base::readable_text(untrusted);
  return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict"));
}

template <class List, class Make>
Owned list_of(const List& values, Make make) {
  Owned list = checked(PyList_New(0));
  for (const auto& value : values) check(PyList_Append(list.get(), make(value).get()));
  return list;
}

void put(PyObject* dictionary, const char* key, const Owned& value) {
  check(PyDict_SetItemString(dictionary, key, value.get()));
}

Owned number(uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }

// ---- Trace ---------------------------------------------------------------------------------------------------------

PyObject* trace_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject* path = nullptr;
    int is_being_written = 0;
    static const char* names[] = {"path", "is_being_written", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, keywords, "O|p:Trace", const_cast<char**>(names), &path, &is_being_written) ==
        0)
      return nullptr;
    const std::string file = path_argument(path);
    std::shared_ptr<OpenTrace> opened;
    {
      const WithoutGil free;
      opened = std::make_shared<OpenTrace>(file, is_being_written != 0);
    }
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Owned object = checked(allocate(type, 0));
    new (&reinterpret_cast<TraceObject*>(object.get())->open) std::shared_ptr<OpenTrace>(std::move(opened));
    return object.release();
  });
}

void trace_delete(PyObject* self) noexcept {
  PyTypeObject* type = Py_TYPE(self);
  using Pointer = std::shared_ptr<OpenTrace>;
  reinterpret_cast<TraceObject*>(self)->open.~Pointer();
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* trace_close(PyObject* self, PyObject*) {
  reinterpret_cast<TraceObject*>(self)->open.reset();
  return Owned::share(Py_None).release();
}

PyObject* trace_names(PyObject* self, PyObject*) {
  return guarded([&] {
    return list_of(open_trace(self)->catalogue.names().all(), [](const std::string& name) { return text_of(name); })
        .release();
  });
}

Owned row_of(const TrackEntry& track) {
  Owned row = checked(PyDict_New());
  put(row.get(), "kind", text_of(track.kind));
  put(row.get(), "pid", number(track.pid));
  put(row.get(), "tid", number(track.tid));
  put(row.get(), "name", text_of(track.name));
  put(row.get(), "device", text_of(track.device));
  return row;
}

// With the tracks of tasks, after the others.
PyObject* trace_tracks(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto open = open_trace(self);
    std::vector<TrackEntry> tracks = open->catalogue.tracks();
    {
      const WithoutGil free;
      const std::vector<TrackEntry>& tasks = open->loose().tasks;
      tracks.insert(tracks.end(), tasks.begin(), tasks.end());
    }
    return list_of(tracks, [](const TrackEntry& track) { return row_of(track); }).release();
  });
}

Owned problem_list(const std::vector<std::string>& problems) {
  return list_of(problems, [](const std::string& problem) { return text_of(problem); });
}

// What was damaged, lost or is missing, as far as it is known without reading the events.
PyObject* trace_problems(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto open = open_trace(self);
    std::vector<std::string> problems;
    {
      const WithoutGil free;
      for (const trace::Problem& problem : open->reader.problems()) problems.push_back(problem.what);
      for (std::string& line : analyze::loss_lines(analyze::summarise(open->reader)))
        problems.push_back(std::move(line));
    }
    return problem_list(problems).release();
  });
}

PyObject* trace_ranges(PyObject* self, PyObject* columns) {
  return guarded([&]() -> PyObject* {
    const auto wanted = uint_argument(columns, "columns");
    if (!wanted) return nullptr;
    const auto open = open_trace(self);
    RangeColumns read;
    {
      const WithoutGil free;
      read = read_ranges(open->reader, open->catalogue, open->loose(), static_cast<unsigned>(*wanted));
      read.problems.insert(read.problems.end(), open->loose().problems.begin(), open->loose().problems.end());
    }
    PyTypeObject* type = state_of(Py_TYPE(self)).column;
    Owned result = checked(PyDict_New());
    if ((*wanted & kTimes) != 0) {
      put(result.get(), "start_ns", checked(make_column(type, std::move(read.start_ns))));
      put(result.get(), "duration_ns", checked(make_column(type, std::move(read.duration_ns))));
    }
    if ((*wanted & kNames) != 0) put(result.get(), "name", checked(make_column(type, std::move(read.name))));
    if ((*wanted & kDepths) != 0) put(result.get(), "depth", checked(make_column(type, std::move(read.depth))));
    if ((*wanted & kTracks) != 0) put(result.get(), "track", checked(make_column(type, std::move(read.track))));
    if ((*wanted & kKinds) != 0) {
      put(result.get(), "across_threads", checked(make_column(type, std::move(read.across_threads))));
      put(result.get(), "finished", checked(make_column(type, std::move(read.finished))));
    }
    put(result.get(), "problems", problem_list(read.problems));
    return result.release();
  });
}

PyObject* trace_durations(PyObject* self, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const Text text(name, "durations: name");
    if (!text.is_valid()) return nullptr;
    const std::string wanted(text.view());
    const auto open = open_trace(self);
    NamedDurations read;
    {
      const WithoutGil free;
      read = read_durations(open->reader, open->catalogue, open->loose(), wanted);
      read.problems.insert(read.problems.end(), open->loose().problems.begin(), open->loose().problems.end());
    }
    const Owned column = checked(make_column(state_of(Py_TYPE(self)).column, std::move(read.ns)));
    return PyTuple_Pack(2, column.get(), problem_list(read.problems).get());
  });
}

Owned row_of(const analyze::RangeRow& range) {
  Owned row = checked(PyDict_New());
  put(row.get(), "name", text_of(range.name));
  put(row.get(), "category", text_of(range.category));
  put(row.get(), "on_device", checked(PyBool_FromLong(range.on_device)));
  put(row.get(), "unfinished", checked(PyBool_FromLong(range.unfinished)));
  put(row.get(), "count", number(range.count));
  put(row.get(), "total_ns", number(range.total_ns));
  put(row.get(), "self_ns", number(range.self_ns));
  const auto length = [&](uint64_t ns) { return range.unfinished ? Owned::share(Py_None) : number(ns); };
  put(row.get(), "min_ns", length(range.min_ns));
  put(row.get(), "median_ns", length(range.median_ns));
  put(row.get(), "p99_ns", length(range.p99_ns));
  put(row.get(), "max_ns", length(range.max_ns));
  return row;
}

PyObject* trace_stats(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto open = open_trace(self);
    analyze::Statistics statistics;
    {
      const WithoutGil free;
      statistics = analyze::compute_statistics(open->reader);
    }
    const Owned rows = list_of(statistics.ranges, [](const analyze::RangeRow& range) { return row_of(range); });
    const Owned problems =
        list_of(statistics.problems, [](const trace::Problem& problem) { return text_of(problem.what); });
    return PyTuple_Pack(2, rows.get(), problems.get());
  });
}

// A process that records itself and is also sampled has two writers.
size_t count_processes(const trace::Reader& reader) {
  std::set<std::tuple<std::string, std::string, uint64_t>> processes;
  for (const auto& [id, writer] : reader.writers())
    processes.emplace(writer.origin.host, writer.origin.boot_id, writer.origin.pid);
  return processes.size();
}

PyObject* trace_counts(PyObject* self, PyObject*) {
  return guarded([&] {
    uint64_t ranges = 0, points = 0, losses = 0;
    const auto open = open_trace(self);
    {
      const WithoutGil free;
      ranges = open->loose().ranges.size();
    }
    for (const trace::EventChunk& chunk : open->reader.event_chunks()) {
      ranges += open->catalogue.find(chunk) != nullptr ? chunk.range_count : 0;
      points += chunk.point_count;
    }
    for (const auto& [id, writer] : open->reader.writers())
      for (const trace::Loss& loss : writer.losses) losses += loss.count;
    Owned row = checked(PyDict_New());
    put(row.get(), "ranges", number(ranges));
    put(row.get(), "points", number(points));
    put(row.get(), "lost", number(losses));
    put(row.get(), "processes", number(count_processes(open->reader)));
    return row.release();
  });
}

// True if its collector or a process has not written its end: events may be in the memory of dead processes.
PyObject* trace_unended(PyObject* self, void*) {
  return guarded([&] {
    const auto open = open_trace(self);
    bool unended = open->reader.has_unended_session();
    for (const auto& [id, writer] : open->reader.writers()) unended = unended || writer.lacks_ending();
    return PyBool_FromLong(unended);
  });
}

PyObject* trace_being_written(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(open_trace(self)->was_written); });
}

PyObject* trace_closed(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<TraceObject*>(self)->open == nullptr);
}

PyMethodDef methods[] = {
    {"close", trace_close, METH_NOARGS, nullptr},
    {"names", trace_names, METH_NOARGS, nullptr},
    {"tracks", trace_tracks, METH_NOARGS, nullptr},
    {"ranges", trace_ranges, METH_O, nullptr},
    {"stats", trace_stats, METH_NOARGS, nullptr},
    {"durations", trace_durations, METH_O, nullptr},
    {"counts", trace_counts, METH_NOARGS, nullptr},
    {"problems", trace_problems, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef attributes[] = {
    {"closed", trace_closed, nullptr, nullptr, nullptr},
    {"unended", trace_unended, nullptr, nullptr, nullptr},
    {"being_written", trace_being_written, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot trace_slots[] = {
    {Py_tp_doc, const_cast<char*>("A trace file. Use kymo.open().")},
    {Py_tp_new, reinterpret_cast<void*>(&trace_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&trace_delete)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};
PyType_Spec trace_spec = {"kymo._reader.Trace", sizeof(TraceObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                          trace_slots};

// ---- Module --------------------------------------------------------------------------------------------------------

int add_type(PyObject* module, PyType_Spec& spec, PyTypeObject*& type) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return type == nullptr ? -1 : PyModule_AddType(module, type);
}

int add_contents(PyObject* module) noexcept {
  State& state = *static_cast<State*>(PyModule_GetState(module));
  return add_type(module, trace_spec, state.trace) < 0 || add_type(module, column_spec, state.column) < 0 ? -1 : 0;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  const State& state = *static_cast<State*>(PyModule_GetState(module));
  Py_VISIT(state.trace);
  Py_VISIT(state.column);
  return 0;
}

int clear(PyObject* module) {
  State& state = *static_cast<State*>(PyModule_GetState(module));
  Py_CLEAR(state.trace);
  Py_CLEAR(state.column);
  return 0;
}

PyMethodDef functions[] = {
    {"arrow_stream", arrow_stream, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(&add_contents)},
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_reader",
    "Trace files in C. Use kymo.open().",
    sizeof(State),
    functions,
    slots,
    traverse,
    clear,
    nullptr,
};

}  // namespace
}  // namespace kymo::python

PyMODINIT_FUNC PyInit__reader(void) { return PyModuleDef_Init(&kymo::python::definition); }
