#include "ondemand/python_client.h"

#include <map>
#include <memory>
#include <string>

#include "kymo/ondemand.h"
#include "support/arguments.h"
#include "support/errors.h"

namespace kymo::python {
namespace {

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

}  // namespace

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

}  // namespace kymo::python
