// The state of a Meaning: instances by their keys, and declarations that are processed later.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shader/sema/sema.h"

namespace kymo::shader {

constexpr uint32_t kMostInstantiationDepth = 200;
constexpr size_t kMostInstances = 20'000;
constexpr size_t kMostPackElements = 512;

// The declared types of a function for one list of template arguments.
struct Signature {
  const Symbol* symbol = nullptr;
  const ast::Declaration* declaration = nullptr;  // the one with the body, if there is one
  TemplateArguments arguments;
  Scope* scope = nullptr;
  std::vector<Parameter> parameters;
  std::optional<QualifiedType> result;  // empty: `auto`
  std::optional<Rejected> fault;        // the types do not match the arguments: not a candidate
};

// Template parameters during deduction.
struct Deduction {
  explicit Deduction(const std::vector<ast::TemplateParameter>& list) : parameters(list), found(list.size()) {}

  const std::vector<ast::TemplateParameter>& parameters;
  std::vector<std::optional<TemplateArgument>> found;
  // The elements of a pack are matched one by one, each as if the pack were a separate parameter.
  bool in_pack = false;
  // If a parameter is deduced with two different results: its index, and the second result.
  size_t conflict = SIZE_MAX;
  TemplateArgument second;

  size_t index_of(std::string_view name) const {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == name && !name.empty()) return i;
    return SIZE_MAX;
  }
};

struct PlacedDeclaration {
  const ast::Declaration* declaration = nullptr;
  Scope* scope = nullptr;
};

struct Meaning::Tables {
  // By instance_key().
  std::unordered_map<std::string, Class*> classes;
  std::unordered_map<std::string, FunctionInstance*> instances;
  std::unordered_map<std::string, Signature*> signatures;
  std::unordered_map<std::string, Value> variables;
  std::deque<Signature> signature_store;

  std::unordered_map<const Symbol*, QualifiedType> aliases;
  std::unordered_map<const Symbol*, Scope*> enum_scopes;
  std::unordered_map<const Class*, Rejected> faults;
  std::unordered_map<const Type*, uint32_t> parts;  // of a struct: its fields, and their fields
  // Members of a struct that are defined outside of it; explicit specialisations of functions; the declaration before a
  // definition, which may have the defaults of its template.
  std::unordered_map<const ast::Declaration*, std::vector<PlacedDeclaration>> outside;
  std::map<std::pair<const Scope*, std::string_view>, std::vector<PlacedDeclaration>> specialised;
  std::unordered_map<const ast::Declaration*, const ast::Declaration*> forward;

  std::vector<PlacedDeclaration> asserts, instantiations;
  std::vector<const Symbol*> functions;  // at namespace scope, that are no templates
  std::map<std::string, Location, std::less<>> host_names;

  std::vector<std::pair<Class*, Location>> pending;  // completed when no other class is being completed
  uint32_t completing = 0;
  uint32_t depth = 0;
  uint64_t steps = 0;             // limited for a source
  uint32_t user_conversions = 0;  // being tried: a conversion may have only one
  uint32_t braces = 0;            // within braces, being ranked
  std::string conflict;           // why the last deduction failed, if it is known
  bool is_explicit = false;       // an explicit conversion
  uint32_t user_file = 0;
};

// Counts the depth of instantiations while it lives.
class InstantiationDepth {
 public:
  InstantiationDepth(uint32_t& depth, Location at) : depth_(depth) {
    if (depth_ >= kMostInstantiationDepth)
      throw Rejected{at, "templates nest more than 200 deep here: is there an end to this recursion?"};
    ++depth_;
  }
  ~InstantiationDepth() { --depth_; }
  InstantiationDepth(const InstantiationDepth&) = delete;
  InstantiationDepth& operator=(const InstantiationDepth&) = delete;

 private:
  uint32_t& depth_;
};

// A text that is unique for the symbol and the arguments.
std::string instance_key(const void* symbol, const TemplateArguments& arguments);
// For messages: "float, 4".
std::string spell(const TemplateArguments& arguments);

}  // namespace kymo::shader
