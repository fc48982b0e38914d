#include "annotate/code_sites.h"

#include <algorithm>

#include "annotate/arguments.h"

namespace kymo::python {
namespace {

constexpr std::string_view kCategory = "python", kCategoryOfC = "python C";
// inspect.CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR
constexpr long kCoroutineFlags = 0x80 | 0x100 | 0x200;

std::string text_attribute(PyObject* object, const char* name) {
  const Owned value(PyObject_GetAttrString(object, name));
  Py_ssize_t size = 0;
  const char* text = value && PyUnicode_Check(value.get()) ? PyUnicode_AsUTF8AndSize(value.get(), &size) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text != nullptr ? std::string(text, static_cast<size_t>(size)) : std::string();
}

long number_attribute(PyObject* object, const char* name) {
  const Owned value(PyObject_GetAttrString(object, name));
  const long number = value ? PyLong_AsLong(value.get()) : 0;
  PyErr_Clear();
  return number;
}

void set_label(CodeSite& site, std::string_view category) {
  site.site.label = {site.name.data(), category.data(), static_cast<uint32_t>(site.name.size()),
                     static_cast<uint32_t>(category.size()), 0};
}

}  // namespace

// "Loader.read (data.py:12)"
void CodeSites::describe_code(PyObject* code, CodeSite& site) {
  const std::string file = text_attribute(code, "co_filename");
  site.name = text_attribute(code, "co_qualname");
  site.is_ignored = !own_folder_.empty() && file.starts_with(own_folder_);
  site.is_coroutine = (number_attribute(code, "co_flags") & kCoroutineFlags) != 0;
  const size_t slash = file.rfind('/');
  site.name += " (" + (slash == file.npos ? file : file.substr(slash + 1)) + ":" +
               std::to_string(number_attribute(code, "co_firstlineno")) + ")";
  set_label(site, kCategory);
}

// "builtins.len", "dict.get"
void CodeSites::describe_builtin(PyObject* function, CodeSite& site) {
  site.name = text_attribute(function, "__qualname__");
  const std::string module = text_attribute(function, "__module__");
  if (!module.empty() && module != "builtins") site.name = module + "." + site.name;
  set_label(site, kCategoryOfC);
}

CodeSite* CodeSites::of_builtin(PyObject* function) noexcept {
  // Bound functions are made for each call: they are the same function if they have the same name.
  try {
    CodeSite described{};
    describe_builtin(function, described);
    std::unique_ptr<CodeSite>& entry = builtins_[described.name];
    if (!entry) {
      entry = std::make_unique<CodeSite>();
      entry->name = described.name;
      entry->is_ignored = described.name.starts_with("kymo.");
      set_label(*entry, kCategoryOfC);
    }
    return entry.get();
  } catch (...) {
    return nullptr;
  }
}

CodeSite* CodeSites::find(PyObject* key, Recent& recent) noexcept {
  try {
    std::unique_ptr<CodeSite>& entry = sites_[key];
    if (!entry) {
      auto made = std::make_unique<CodeSite>();
      describe_code(key, *made);
      // The callback gets the weak reference, and needs the address of the object that is gone.
      static PyMethodDef gone = {
          "code_is_gone",
          [](PyObject* addresses, PyObject*) -> PyObject* {
            auto* sites = static_cast<CodeSites*>(PyLong_AsVoidPtr(PyTuple_GetItem(addresses, 0)));
            sites->forget(static_cast<PyObject*>(PyLong_AsVoidPtr(PyTuple_GetItem(addresses, 1))));
            Py_RETURN_NONE;
          },
          METH_O, nullptr};
      const Owned own(PyLong_FromVoidPtr(this)), address(PyLong_FromVoidPtr(key));
      const Owned addresses(own && address ? PyTuple_Pack(2, own.get(), address.get()) : nullptr);
      const Owned callback(addresses ? PyCFunction_New(&gone, addresses.get()) : nullptr);
      if (callback) made->reference = Owned(PyWeakref_NewRef(key, callback.get()));
      if (!made->reference) {
        PyErr_Clear();
        sites_.erase(key);
        return nullptr;
      }
      entry = std::move(made);
    }
    recent = {key, entry.get()};
    return entry.get();
  } catch (...) {
    return nullptr;
  }
}

void CodeSites::forget(PyObject* key) noexcept {
  Recent& recent = place_of(key);
  if (recent.key == key) recent = {};
  sites_.erase(key);
}

void CodeSites::clear() noexcept {
  std::fill(std::begin(recent_), std::end(recent_), Recent{});
  sites_.clear();
  builtins_.clear();
}

}  // namespace kymo::python
