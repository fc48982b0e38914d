// The types of a module in C, each in up to two forms.
//
//   value form    for computing: half and bfloat are floats, pointers are pointers, bool is bool
//   memory form   Metal's exact layout, in buffers, in group memory and in the program's constants: half and bfloat
//                 are ushort, bool is uchar, pointers are ulong. In thread memory only if a source uses the bytes of
//                 such a type as another type
//
// Most types have one form that is both. An array is a structure { T v[N]; }, so that it can be assigned, passed and
// returned; variables are plain arrays if possible (declaration()). Packed vectors are structures { T v[N]; } in memory
// form everywhere, because they are converted whenever they are read.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "shader/emit/c_dialect.h"
#include "shader/emit/names.h"

namespace kymo::shader {

enum class Form : uint8_t { Value, Memory };

class CTypes {
 public:
  CTypes(CDialect& dialect, Names& names) : dialect_(dialect), names_(names) {}

  std::string spelled(Form form, const Type* type);
  std::string value(const Type* type) { return spelled(Form::Value, type); }
  std::string pointed(Form form, const Type* type) { return pointee(mention(form, type)); }  // for a pointer to it
  bool is_same(const Type* type);                                                            // both forms are the same

  // From memory form to value form, and the reverse.
  CText load(const Type* type, CText text);
  CText store(const Type* type, CText text);
  // A packed vector as a plain one, and the reverse.
  CText unpack(const Type* packed, CText text);
  CText pack(const Type* packed, CText text);

  // `float tile[16][16]`
  std::string declaration(Form form, const Type* type, std::string_view name);
  const std::string& field(const Type* structure, uint32_t index);
  // { ulong address; T value; }: how a kernel takes a value.
  std::string inline_value(const Type* type);

  // Numbers that are accessed through pointers may be of another type than their memory. Before the first pointer.
  void let_pointers_alias() { pointers_alias_ = true; }
  // Also in thread memory, by types whose forms differ: whatever a pointer may point to is in memory form there too.
  void keep_thread_memory_exact() { is_thread_exact_ = true; }
  bool is_thread_exact() const { return is_thread_exact_; }
  Form form_in(Space space) const {  // of what a pointer points to
    return space == Space::Thread && !is_thread_exact_ ? Form::Value : Form::Memory;
  }
  Form form_of(const ir::Variable& variable) const {
    const bool is_own = variable.space == Space::Thread && !variable.address_taken;
    return is_own ? Form::Value : form_in(variable.space);
  }

  // The definitions, in order of dependency.
  std::string take_text();

 private:
  struct Known {
    std::string name[2];  // by form; if a type has one form, both are the same
    bool is_forward[2] = {}, is_complete[2] = {};
    int same = -1;
    std::vector<std::string> fields;
    std::string load, store, inline_value;
  };

  Known& known(const Type* type);
  std::string mention(Form form, const Type* type);  // its name, for a pointer to it
  std::string pointee(const std::string& name);
  void complete(Form form, const Type* type);
  std::string body_of(Form form, const Type* type);
  CText convert(const Type* type, CText text, bool is_load);
  std::string converter(const Type* type, bool is_load);

  CDialect& dialect_;
  Names& names_;
  std::unordered_map<const Type*, Known> known_;
  std::vector<std::pair<Form, const Type*>> mentioned_;  // only by pointers
  bool pointers_alias_ = false, is_thread_exact_ = false;
  std::unordered_map<std::string, std::string> aliases_;  // of types, for pointers to them
  std::string text_;
};

// The number of elements; C needs at least one.
inline uint32_t c_count(const Type* array) { return array->count == 0 ? 1 : array->count; }

// Numbers that C reads back exactly to the last bit, and the constants of a program.

// In value form: 2.5f, (uchar)7, -2147483647 - 1.
CText c_constant(const CDialect& dialect, const Type* scalar, uint64_t bits);

// The text after `=` in the definition of a program constant (see declaration()), in memory form. Throws Rejected if
// the value is not allowed there.
std::string c_initializer(CDialect& dialect, CTypes& types, const ir::Expression& value);

}  // namespace kymo::shader
