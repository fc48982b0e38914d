// Arguments of annotations: values of Python as arguments of Kymo, which are stored unformatted.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kymo/kymo.h"
#include "support/owned.h"

namespace kymo::python {

// How the places of a message can be filled.
enum class Places {
  Plain,   // only "{}", "{0}" and "{name}": any value may be stored as text
  Format,  // with formats, "{:.3f}": numbers and text only
  Python,  // "{x.y}", "{x[0]}", "{x!r}", "{:{width}}": only Python can do it
};
Places places_of(std::string_view message) noexcept;

// The arguments of one event, while it is recorded.
class EventArguments {
 public:
  static constexpr uint32_t kMost = 32;  // more are not stored in a trace

  // False: it cannot be stored as it is, and Python must format the message. No exception is set. `name` is null for a
  // positional argument.
  bool add(PyObject* value, PyObject* name, Places places) noexcept;

  const kymo_arg* data() const noexcept { return args_; }
  uint32_t count() const noexcept { return count_; }

 private:
  bool add_number(PyObject* value, kymo_arg& into) noexcept;
  bool add_text(PyObject* value, kymo_arg& into) noexcept;

  kymo_arg args_[kMost];
  Owned held_[kMost];  // texts that were made for this event
  uint32_t count_ = 0;
};

// Clears the exception that is set, unless it must end the program's own work too (KeyboardInterrupt, SystemExit).
// False: it stays set.
bool clear_ordinary_exception() noexcept;

}  // namespace kymo::python
