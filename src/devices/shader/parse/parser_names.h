// What the parser knows about names: whether one is a type, a template, a namespace or a value. It stores only this,
// because C++ cannot be parsed without it; everything else belongs to the next stage.
//
// Scopes live as long as the table, so that a body may be parsed later than the struct around it. A lookup takes one
// step for each enclosing scope, and follows at most kMaxFollowed using-directives and bases. Not thread-safe.
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
    kTemplate = 2,  // with kType: a struct or an alias; with kValue: a function or a variable
    kValue = 4,
    kFunction = 8,  // with kValue
    kNamespace = 16,
    kBuiltin = 32,  // a type of the language itself: nothing else can have this name
    kPack = 64,
  };
  uint8_t flags = 0;             // 0: nothing is known
  NameScope* members = nullptr;  // of a namespace, struct or enum; null: unknown
  NameScope* home = nullptr;     // the scope where it was found

  bool known() const { return flags != 0; }
  bool is_type() const { return (flags & kType) != 0 && (flags & kValue) == 0; }
  bool is_template() const { return (flags & kTemplate) != 0; }
  bool is_builtin() const { return (flags & kBuiltin) != 0; }
};

struct NameScope {
  enum class Kind : uint8_t { Namespace, Struct, Template, Block };
  Kind kind = Kind::Namespace;
  uint32_t id = 0;
  NameScope* parent = nullptr;    // where the lookup continues; null: nowhere
  NameScope* reopened = nullptr;  // for `S::f() {…}`: S and its enclosing scopes are searched before the parent
  NameScope* primary = nullptr;   // of a specialisation: its declarations count as those of the template
  std::vector<NameScope*> also;   // used namespaces, and bases
  // A bit for each declared name, shared by many names: if it is not set, there is no such name.
  uint64_t has = 0;
  mutable uint32_t visited = 0;  // the last lookup that visited it
};

class ParserNames {
 public:
  ParserNames();
  ParserNames(const ParserNames& other);  // a copy that shares nothing
  ParserNames& operator=(const ParserNames&) = delete;

  WordTable words;

  NameScope* global() { return global_; }
  NameScope* open(NameScope::Kind kind, NameScope* parent);
  void declare(NameScope* scope, Word name, uint8_t flags, NameScope* members = nullptr);
  void follow(NameScope* scope, NameScope* other);  // the names of `other` are also names of `scope`

  NameMeaning find(const NameScope* from, Word name) const;      // in this scope or the enclosing ones
  NameMeaning find_in(const NameScope* scope, Word name) const;  // scope::name
  NameMeaning own(const NameScope* scope, Word name) const;      // declared in this scope
  NameMeaning builtin(Word name) const { return own(builtin_, name); }
  bool is_member_template(Word name) const;  // some struct has one with this name

 private:
  struct Entry {
    uint64_t key = 0;  // 0: free
    NameMeaning meaning;
  };
  static constexpr int kMaxFollowed = 256;

  const Entry* entry(const NameScope* scope, Word name) const;
  NameMeaning here(const NameScope* scope, Word name, int& left) const;  // without the enclosing scopes
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
