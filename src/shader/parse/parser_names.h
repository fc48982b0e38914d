// What is known of names while a source is parsed: whether one is a type, a template, a namespace or a value. No more
// than that: C++ cannot be parsed without it, and everything else is for the next stage.
//
// Scopes live as long as the table, so that a body may be parsed later than the struct around it. A lookup takes a step
// for each scope around, and follows at most kMostFollowed using-directives and bases. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "shader/parse/words.h"

namespace kymo::shader {

struct NameScope;

struct NameMeaning {
  enum Flag : uint8_t {
    kType = 1,
    kTemplate = 2,  // with kType a struct's or an alias's, with kValue a function's or a variable's
    kValue = 4,
    kFunction = 8,  // with kValue
    kNamespace = 16,
    kBuiltin = 32,  // a type of the language itself: no other thing can be called so
    kPack = 64,
  };
  uint8_t flags = 0;             // none: nothing is known
  NameScope* members = nullptr;  // of a namespace, struct or enum; null: not known
  NameScope* home = nullptr;     // where it was found

  bool known() const { return flags != 0; }
  bool is_type() const { return (flags & kType) != 0 && (flags & kValue) == 0; }
  bool is_template() const { return (flags & kTemplate) != 0; }
  bool is_builtin() const { return (flags & kBuiltin) != 0; }
  bool is_namespace() const { return (flags & kNamespace) != 0; }
};

struct NameScope {
  enum class Kind : uint8_t { Namespace, Struct, Template, Block };
  Kind kind = Kind::Namespace;
  uint32_t id = 0;
  NameScope* parent = nullptr;    // where lookup goes on; null: nowhere
  NameScope* reopened = nullptr;  // of `S::f() {…}`: S is looked into, and what is around it, before the parent
  NameScope* primary = nullptr;   // of a specialisation: what it declares is taken for the template's own
  std::vector<NameScope*> also;   // namespaces that are used, bases
  uint64_t has = 0;               // a bit for each name it declares, shared by many: without it, there is none
  mutable uint32_t visited = 0;   // by which lookup
};

class ParserNames {
 public:
  ParserNames();
  ParserNames(const ParserNames&) = delete;
  ParserNames& operator=(const ParserNames&) = delete;

  WordTable words;

  NameScope* global() { return global_; }
  NameScope* open(NameScope::Kind kind, NameScope* parent);
  void declare(NameScope* scope, Word name, uint8_t flags, NameScope* members = nullptr);
  void follow(NameScope* scope, NameScope* other);  // other's names are scope's too

  NameMeaning find(const NameScope* from, Word name) const;      // there or further out
  NameMeaning find_in(const NameScope* scope, Word name) const;  // scope::name
  NameMeaning own(const NameScope* scope, Word name) const;      // declared right there
  NameMeaning builtin(Word name) const { return own(builtin_, name); }
  bool is_member_template(Word name) const;  // some struct has one that is called so

 private:
  struct Entry {
    uint64_t key = 0;  // 0: free
    NameMeaning meaning;
  };
  static constexpr int kMostFollowed = 256;

  const Entry* entry(const NameScope* scope, Word name) const;
  NameMeaning here(const NameScope* scope, Word name, int& left) const;  // without what is further out
  size_t slot(uint64_t key) const;
  void grow();
  void declare_builtins();

  std::deque<NameScope> scopes_;
  std::vector<Entry> entries_;
  size_t used_ = 0;
  std::vector<bool> member_templates_;  // by word
  NameScope* builtin_ = nullptr;
  NameScope* global_ = nullptr;
  mutable uint32_t lookup_ = 0;
};

}  // namespace kymo::shader
