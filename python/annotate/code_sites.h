// The ranges of Python functions: a site for each code object, found by its address.
//
// All functions need the GIL. An entry goes away with its code object, so that a program which makes functions without
// end does not fill the memory.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "kymo/kymo.h"
#include "support/owned.h"

namespace kymo::python {

struct CodeSite {
  kymo_site site;
  std::string name;
  bool is_ignored;    // a function of Kymo itself
  bool is_coroutine;  // its frames run in turns, as steps of a task
  Owned reference;    // a weak one, whose callback removes the entry
};

class CodeSites {
 public:
  // Functions of files in this folder are ignored.
  explicit CodeSites(std::string own_folder) : own_folder_(std::move(own_folder)) {}

  // The site of a code object, or of a function that is written in C. Null: no memory.
  CodeSite* of_code(PyObject* code) noexcept {
    Recent& recent = place_of(code);
    return __builtin_expect(recent.key == code, 1) ? recent.site : find(code, recent);
  }
  CodeSite* of_builtin(PyObject* function) noexcept;

  void forget(PyObject* key) noexcept;
  void clear() noexcept;

 private:
  struct Recent {
    PyObject* key = nullptr;
    CodeSite* site = nullptr;
  };
  static constexpr size_t kRecent = 1024;

  Recent& place_of(PyObject* key) noexcept {
    return recent_[(reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u) >> 54];
    static_assert(kRecent == 1u << 10);
  }
  CodeSite* find(PyObject* key, Recent& recent) noexcept;
  void describe_code(PyObject* code, CodeSite& site);
  void describe_builtin(PyObject* function, CodeSite& site);

  std::string own_folder_;
  std::unordered_map<PyObject*, std::unique_ptr<CodeSite>> sites_;
  std::unordered_map<std::string, std::unique_ptr<CodeSite>> builtins_;
  Recent recent_[kRecent];
};

}  // namespace kymo::python
