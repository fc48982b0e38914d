#include "reader/arrow.h"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kymo/error.h"
#include "support/errors.h"
#include "support/owned.h"

namespace kymo::python {
namespace {

// ---- The structures of the interface, which every producer copies from its page ------------------------------------

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

constexpr const char* kStruct = "+s";
constexpr const char* kText = "u";
constexpr const char* kCapsuleName = "arrow_array_stream";

// ---- What is given -------------------------------------------------------------------------------------------------

// The values of a buffer of Python, until any thread lets go of them.
class Values {
 public:
  explicit Values(PyObject* object) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) < 0) throw PythonErrorSet{};
  }
  ~Values() {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(&view_);
    PyGILState_Release(state);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  const void* data() const { return view_.buf; }

 private:
  Py_buffer view_{};
};

struct Dictionary {
  std::vector<int32_t> offsets{0};
  std::string text;
};

struct Field {
  std::string name, format;
  bool has_dictionary;
};
using Fields = std::vector<Field>;

struct Column {
  std::unique_ptr<Values> values;
  std::unique_ptr<Dictionary> dictionary;  // null: the values are numbers
};

struct Batch {
  int64_t length = 0;
  std::vector<Column> columns;
};

// A consumer may keep the schema for long: it does not keep the columns.
struct Stream {
  std::shared_ptr<const Fields> fields;
  std::shared_ptr<const Batch> batch;
  bool is_done = false;
};

// ---- What is handed out: each part is released on its own, because a consumer may move it away ---------------------

template <class Part>
struct Held {
  std::shared_ptr<const void> owner;
  std::vector<const void*> buffers;
  std::vector<Part> children;
  std::vector<Part*> pointers;
  Part dictionary{};
};

template <class Part>
void release_part(Part* part) {
  auto* const held = static_cast<Held<Part>*>(part->private_data);
  for (Part& child : held->children)
    if (child.release != nullptr) child.release(&child);
  if (held->dictionary.release != nullptr) held->dictionary.release(&held->dictionary);
  part->release = nullptr;
  delete held;
}

template <class Part>
Held<Part>& hold(Part& part, std::shared_ptr<const void> owner, size_t children) {
  part = {};
  auto* const held = new Held<Part>{std::move(owner), {}, std::vector<Part>(children), {}, {}};
  for (Part& child : held->children) held->pointers.push_back(&child);
  part.n_children = static_cast<int64_t>(children);
  part.children = held->pointers.data();
  part.private_data = held;
  part.release = release_part<Part>;
  return *held;
}

void fill_schema(ArrowSchema& schema, std::shared_ptr<const void> owner, const char* name, const char* format,
                 size_t children = 0) {
  hold(schema, std::move(owner), children);
  schema.name = name;
  schema.format = format;
}

void fill_array(ArrowArray& array, std::shared_ptr<const void> owner, int64_t length, std::vector<const void*> buffers,
                size_t children = 0) {
  Held<ArrowArray>& held = hold(array, std::move(owner), children);
  held.buffers = std::move(buffers);
  array.length = length;
  array.buffers = held.buffers.data();
  array.n_buffers = static_cast<int64_t>(held.buffers.size());
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* into) {
  const auto& fields = static_cast<Stream*>(stream->private_data)->fields;
  fill_schema(*into, fields, "", kStruct, fields->size());
  for (size_t i = 0; i < fields->size(); ++i) {
    const Field& field = (*fields)[i];
    ArrowSchema& child = *into->children[i];
    fill_schema(child, fields, field.name.c_str(), field.format.c_str());
    if (!field.has_dictionary) continue;
    child.dictionary = &static_cast<Held<ArrowSchema>*>(child.private_data)->dictionary;
    fill_schema(*child.dictionary, fields, "", kText);
  }
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* into) {
  auto& state = *static_cast<Stream*>(stream->private_data);
  *into = {};
  if (std::exchange(state.is_done, true)) return 0;  // an array without release() ends the stream
  const auto& batch = state.batch;
  fill_array(*into, batch, batch->length, {nullptr}, batch->columns.size());
  for (size_t i = 0; i < batch->columns.size(); ++i) {
    const Column& column = batch->columns[i];
    ArrowArray& child = *into->children[i];
    fill_array(child, batch, batch->length, {nullptr, column.values->data()});
    if (column.dictionary == nullptr) continue;
    const Dictionary& words = *column.dictionary;
    child.dictionary = &static_cast<Held<ArrowArray>*>(child.private_data)->dictionary;
    fill_array(*child.dictionary, batch, static_cast<int64_t>(words.offsets.size()) - 1,
               {nullptr, words.offsets.data(), words.text.data()});
  }
  return 0;
}

// For a consumer in C.
template <class Part, int (*kFill)(ArrowArrayStream*, Part*)>
int filled(ArrowArrayStream* stream, Part* into) noexcept {
  try {
    return kFill(stream, into);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

void delete_capsule(PyObject* capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  if (stream->release != nullptr) stream->release(stream);  // nobody took it
  delete stream;
}

// ---- From Python ---------------------------------------------------------------------------------------------------

std::unique_ptr<Dictionary> dictionary_of(PyObject* words) {
  auto made = std::make_unique<Dictionary>();
  const Py_ssize_t count = PyList_Size(words);
  if (count < 0) throw PythonErrorSet{};
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(PyList_GetItem(words, i), &size);
    if (text == nullptr) throw PythonErrorSet{};
    made->text.append(text, static_cast<size_t>(size));
    if (made->text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
      throw Error("the names of this trace are longer than 2 GiB together, which a dictionary of Arrow cannot have");
    made->offsets.push_back(static_cast<int32_t>(made->text.size()));
  }
  return made;
}

}  // namespace

PyObject* arrow_stream(PyObject*, PyObject* args) noexcept {
  return guarded([&]() -> PyObject* {
    long long length = 0;
    PyObject* columns = nullptr;
    if (!PyArg_ParseTuple(args, "LO", &length, &columns)) throw PythonErrorSet{};
    auto batch = std::make_shared<Batch>();
    auto fields = std::make_shared<Fields>();
    batch->length = length;
    for (Py_ssize_t i = 0; i < PyList_Size(columns); ++i) {
      const char *name = nullptr, *format = nullptr;
      PyObject *values = nullptr, *words = nullptr;
      if (!PyArg_ParseTuple(PyList_GetItem(columns, i), "ssOO", &name, &format, &values, &words))
        throw PythonErrorSet{};
      fields->push_back({name, format, words != Py_None});
      batch->columns.push_back({std::make_unique<Values>(values), words == Py_None ? nullptr : dictionary_of(words)});
    }
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet{};
    auto stream = std::make_unique<ArrowArrayStream>();
    stream->get_schema = filled<ArrowSchema, get_schema>;
    stream->get_next = filled<ArrowArray, get_next>;
    stream->get_last_error = [](ArrowArrayStream*) -> const char* { return "out of memory"; };
    stream->release = release_stream;
    stream->private_data = new Stream{std::move(fields), std::move(batch)};
    PyObject* const capsule = PyCapsule_New(stream.get(), kCapsuleName, delete_capsule);
    if (capsule == nullptr) {
      release_stream(stream.get());
      throw PythonErrorSet{};
    }
    stream.release();
    return capsule;
  });
}

}  // namespace kymo::python
