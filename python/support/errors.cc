#include "support/errors.h"

#include <exception>
#include <new>
#include <string>

#include "kymo/error.h"

namespace kymo::python {
namespace {

// The class kymo.errors.NAME. The classes are Python's, so that all extension modules share them.
Owned error_class(const char* name) noexcept {
  Owned module(PyImport_ImportModule("kymo.errors"));
  return module ? Owned(PyObject_GetAttrString(module.get(), name)) : Owned();
}

Owned text_object(const std::string& text) noexcept {
  return Owned(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

void set_object(const char* name, Owned arguments) noexcept {
  if (!arguments) return;
  const Owned type = error_class(name);
  if (!type) {  // the interpreter ends, and imports nothing any more
    PyErr_SetObject(PyExc_RuntimeError, PyTuple_GetItem(arguments.get(), 0));
    return;
  }
  const Owned error(PyObject_Call(type.get(), arguments.get(), nullptr));
  if (error) PyErr_SetObject(type.get(), error.get());
}

void set_text(const char* name, const std::string& text) noexcept {
  const Owned object = text_object(text);
  if (object) set_object(name, Owned(PyTuple_Pack(1, object.get())));
}

void set_compile_error(const CompileError& error) noexcept {
  const Owned message = text_object(error.what()), file = text_object(error.file()), text = text_object(error.text());
  if (!message || !file || !text) return;
  set_object("CompileError",
             Owned(Py_BuildValue("(OOIIO)", message.get(), file.get(), static_cast<unsigned>(error.line()),
                                 static_cast<unsigned>(error.column()), text.get())));
}

void set_out_of_memory(const OutOfMemory& error) noexcept {
  const Owned message = text_object(error.what());
  if (!message) return;
  set_object("OutOfMemory", Owned(Py_BuildValue("(OKKK)", message.get(), static_cast<unsigned long long>(error.asked()),
                                                static_cast<unsigned long long>(error.in_use()),
                                                static_cast<unsigned long long>(error.limit()))));
}

}  // namespace

void set_error(const char* name, const char* text) noexcept { set_text(name, text); }

void set_current_exception() noexcept {
  try {
    throw;
  } catch (const PythonErrorSet&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_SystemError, "kymo: an error without an exception");
  } catch (const CompileError& error) {
    set_compile_error(error);
  } catch (const OutOfMemory& error) {
    set_out_of_memory(error);
  } catch (const InvalidArgument& error) {
    set_text("InvalidArgument", error.what());
  } catch (const NotAvailable& error) {
    set_text("NotAvailable", error.what());
  } catch (const DeviceError& error) {
    set_text("DeviceError", error.what());
  } catch (const Error& error) {
    set_text("Error", error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "kymo: an unknown C++ exception");
  }
}

}  // namespace kymo::python
