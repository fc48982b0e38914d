// One function of a module as text: its statements, expressions and places.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "shader/emit/c_types.h"

namespace kymo::shader {

// The data that a function needs from its kernel: hidden parameters, before the others.
struct CNeeds {
  bool simd = false, grid = false;
};

// The data that the functions of a module share.
struct CModule {
  CDialect& dialect;
  Names& names;
  CTypes& types;
  std::unordered_map<const ir::Function*, std::string> functions = {};
  std::unordered_map<const ir::Function*, CNeeds> needs = {};
  std::unordered_map<const ir::Variable*, std::string> constants = {};
  bool casts_group_memory = false;  // to types that need more alignment
  bool reads_addresses = false;     // as numbers, of buffers
  // The types that pointers to types of less alignment are converted to. A vector that is reached through a pointer to
  // one of them may be aligned as its components only, which Metal's devices allow.
  std::unordered_set<const Type*> loose = {};
};

class CFunction {
 public:
  CFunction(CModule& module, const ir::Function& function);

  std::string write();  // its definition

 private:
  // A place in the C text.
  struct Place {
    CText text;
    Form form = Form::Value;
    Space space = Space::Thread;
    bool is_plain_array = false;  // of arrays: a plain array, not a structure that contains one
  };
  // Within braces.
  class Inside {
   public:
    explicit Inside(CFunction& function) : function_(function) {
      function_.names_.enter();
      function_.indent_ += "  ";
    }
    Inside(const Inside&) = delete;
    ~Inside() {
      function_.indent_.resize(function_.indent_.size() - 2);
      function_.names_.leave();
    }

   private:
    CFunction& function_;
  };
  struct Components {  // of a vector that is a place
    const ir::Expression* vector = nullptr;
    std::vector<uint8_t> which;
  };

  // ---- c_function.cc
  std::string parameters();
  std::string kernel_parameters();
  void kernel_opening();
  bool is_cast_argument(const ir::Binding& binding) const;
  bool is_loose_argument(const ir::Binding& binding) const;
  std::string aligned(Form form) const;  // before the type of a thread's variable that may be used as another type
  void declare_group_memory(const ir::Block& block);
  std::string& name(const ir::Variable& variable);

  // ---- c_statements.cc
  void block(const ir::Block& statements);  // in its own scope, without braces
  void statements(const ir::Block& block);  // in the current scope
  void statement(const ir::Statement& statement);
  void declare(const ir::Statement& statement);
  std::string declaration(const ir::Statement& statement);
  std::string plain_parts(Form form, const ir::Expression& array);
  void if_statement(const ir::Statement& statement);
  void switch_statement(const ir::Statement& statement);
  void unroll(const ir::Statement& loop, const ir::Statement* first);  // the line before it that asks for it
  void loop(const ir::Statement& statement, const ir::Statement* first);
  void general_loop(const ir::Statement& statement);
  void do_loop(const ir::Statement& statement);
  void leave_unless(const ir::Expression* condition);
  std::optional<std::string> header_step(const ir::Block& step);
  void hoist_shared(const ir::Statement& loop);
  void line(std::string_view text);

  // ---- c_places.cc
  Place place(const ir::Expression& expression);
  Place base(const ir::Expression& expression);  // also for expressions that are not places
  Place member(const ir::Expression& expression);
  Place index(const ir::Expression& expression);
  CText read(const ir::Expression& expression);
  CText offset(const ir::Expression& position);
  CText address_of(const ir::Expression& expression);
  CText decay(const ir::Expression& expression);
  bool is_loose(const ir::Expression& place) const;   // a vector in memory whose alignment is not known
  CText whole(const Place& place, const Type* type);  // an array as one value
  Components components(const ir::Expression& expression) const;
  std::optional<std::string> assignment(const ir::Statement& statement);  // empty: it needs several statements
  std::string component_assignment(const ir::Expression& target, const ir::Expression& from);
  CText value_for(Form form, const ir::Expression& from);  // the text to store in a place of this form
  std::optional<std::string> in_place(const ir::Statement& statement);
  void swizzle_assignment(const ir::Statement& statement);

  // ---- c_expressions.cc
  CText value(const ir::Expression& expression);
  CText value_of(const ir::Expression& expression);
  CText binary(const ir::Expression& expression);
  CText one_binary(const ir::Expression& expression, CText left, CText right);
  CText unary(const ir::Expression& expression);
  CText convert(const ir::Expression& expression);
  CText convert(const Type* from, const Type* to, CText text);
  CText construct(const ir::Expression& expression);
  CText zero(const Type* type);
  CText bitcast(const ir::Expression& expression);
  CText pointer_cast(const ir::Expression& expression);
  CText call(const ir::Expression& expression);
  CText intrinsic(const ir::Expression& expression);

  CModule& module_;
  CDialect& dialect_;
  CTypes& types_;
  Names& names_;
  const ir::Function& function_;
  CHidden hidden_;
  std::unordered_map<const ir::Variable*, std::string> variables_;
  std::unordered_map<const ir::Variable*, std::string> given_;  // the parameters that hold the values
  // Parameters in memory form, and the names of those that hold their values.
  std::vector<std::pair<const ir::Variable*, std::string>> kept_parameters_;
  std::unordered_set<const ir::Variable*> plain_arrays_;
  std::unordered_set<const ir::Variable*> hoisted_;  // already declared
  std::string out_;
  std::string indent_;
  uint32_t depth_ = 0;
};

}  // namespace kymo::shader
