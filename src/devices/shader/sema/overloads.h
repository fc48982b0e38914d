// The function that a call means: its candidates, their types, how well the arguments fit, and the instance for it.
//
// A candidate that does not fit is not an error: its types are computed in signature(), which keeps a Rejected as the
// fault of the candidate. Each argument has a Rank. The best candidate is at least as good for every argument and
// better for one; then a function is better than a template, and a more specialised template better than another.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "shader/sema/context.h"
#include "shader/sema/entity.h"
#include "shader/sema/lookup.h"
#include "shader/sema/templates.h"
#include "shader/sema/types.h"

namespace kymo::shader {

// The cost of a conversion in overload resolution; lower is better.
enum class Rank : uint8_t { Exact, Qualification, Promotion, Conversion, Splat, User, Impossible };

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

// The function that a call chose.
struct Chosen {
  FunctionInstance* instance = nullptr;
  // Parameters without an argument, whose default values are used.
  std::vector<const ast::Declaration*> defaults;
};

// How a struct is converted to another type, or another type to a struct.
struct UserConversion {
  bool by_constructor = false;
  const Symbol* symbol = nullptr;  // else: the operator
  TemplateArguments arguments;
};

class Overloads {
 public:
  Overloads(Context& context, Lookup& lookup, Types& types, Templates& templates)
      : context_(context), table_(context.table), lookup_(lookup), types_(types), templates_(templates) {}
  Overloads(const Overloads&) = delete;
  Overloads& operator=(const Overloads&) = delete;

  // ---- Choice. Both throw if several candidates match equally well.
  Chosen choose(OverloadSet& set, std::span<const Value> arguments);  // throws with the candidates if none matches
  std::optional<Chosen> try_choose(OverloadSet& set, std::span<const Value> arguments);  // empty: none matches

  // ---- Conversions
  Rank rank(const Value& from, const QualifiedType& to);
  Rank rank_reference(const Value& from, const Type* reference);
  // The only conversion of a struct: by a constructor of `to`, or by its own operator.
  std::optional<UserConversion> user_conversion(const Value& from, const Type* to);
  // x.operator T(): keeps the candidates that convert to exactly this type; templates only if there is no function.
  void keep_conversions(OverloadSet& set, const Type* to);
  // Whether user_conversion() also finds explicit operators. Lowering sets it for a cast.
  bool& allows_explicit() { return allows_explicit_; }

  // ---- Instances
  const Signature& signature(const Symbol& symbol, const TemplateArguments& arguments);
  // The one instance of a function for these arguments. If parameters are `constant` pointers or references, there is
  // one instance for each address space of the arguments: a `constant T*` parameter accepts Constant, Program, and (for
  // a kernel's Value) Thread memory. Targets distinguish them.
  FunctionInstance& instance(const Symbol& function, const TemplateArguments& arguments, std::span<const Value> given,
                             const Value* object, Location at);
  // A new instance with these types: each host_name of a kernel has one.
  FunctionInstance& make_instance(const FunctionInstance& like);

 private:
  struct Candidate;
  std::optional<Candidate> viable(const Symbol& symbol, const OverloadSet& set, std::span<const Value> arguments,
                                  std::string* why);
  Rank object_rank(const Symbol& function, const std::optional<Value>& object) const;
  std::optional<Chosen> choose_best(OverloadSet& set, std::span<const Value> arguments, std::vector<Report>* notes,
                                    bool gives_way);

  Rank rank_pointer(const Value& from, const Type* pointer);
  Rank rank_braces(const Value& from, const Type* to);
  Rank rank_user(const Value& from, const Type* to);
  // Of a conversion operator to that type; empty: it converts to no such type.
  std::optional<TemplateArguments> conversion_arguments(const Symbol& symbol, const Type* to);

  // The definition outside of its struct of a member that has only a declaration inside.
  const PlacedDeclaration* definition_of(const Symbol& member);
  void work_out(Signature& made);
  void read_parameters(Signature& made);
  void use_specialisation(Signature& made);
  void read_result(Signature& made);

  Context& context_;
  TypeTable& table_;
  Lookup& lookup_;
  Types& types_;
  Templates& templates_;
  std::deque<FunctionInstance> instances_;
  std::deque<Signature> signatures_;
  std::unordered_map<std::string, FunctionInstance*> instances_by_key_;  // by instance_key() and address spaces
  std::unordered_map<std::string, Signature*> signatures_by_key_;
  uint32_t user_conversions_ = 0;  // being tried: a conversion may have only one
  uint32_t braces_ = 0;            // within braces, being ranked
  bool allows_explicit_ = false;
};

}  // namespace kymo::shader
