// A module in a dialect of C: its constants, and its functions with their statements, expressions and places.

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "shader/emit/c_dialect.h"
#include "shader/emit/c_types.h"
#include "shader/emit/emit.h"
#include "shader/emit/reflect.h"
#include "shader/emit/unroll.h"
#include "shader/ir/uses.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {
namespace {

using ir::ExpressionKind;
using ir::Operator;
using ir::StatementKind;

constexpr uint32_t kGroupAlignment = 16;  // of the widest vectors that memory is used as
constexpr size_t kMaxBlocks = 200;        // compilers stop at about this many braces
constexpr uint32_t kMaxNesting = 300;     // of expressions

bool c_is_plain_aggregate(const ir::Expression& value) {
  if (!value.type->is_array() || value.kind == ir::ExpressionKind::Zero) return true;
  if (value.kind != ir::ExpressionKind::Construct || value.operands.empty()) return false;
  for (const ir::Expression* part : value.operands)
    if (!c_is_plain_aggregate(*part)) return false;
  return true;
}

bool c_has_effects(const ir::Expression& expression) {
  bool has = false;
  ir::for_each_expression(&expression, [&](const ir::Expression& one) {
    has |= one.kind == ExpressionKind::Call ||
           (one.kind == ExpressionKind::Intrinsic && one.intrinsic >= ir::Intrinsic::AtomicLoad &&
            one.intrinsic <= ir::Intrinsic::GroupAny);
  });
  return has;
}

bool c_places_is_constant_index(const ir::Expression& index) {
  return index.kind == ExpressionKind::Constant && index.bits < 4;
}

bool c_places_is_of_vector(const ir::Expression& expression) {
  return expression.kind == ExpressionKind::Index && expression.operands[0]->type->is_vector();
}

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

// One function of a module as text: its statements, expressions and places.
class CFunction {
 public:
  CFunction(CModule& module, const ir::Function& function)
      : module_(module), dialect_(module.dialect), types_(module.types), names_(module.names), function_(function) {
    const CNeeds needs = module.needs[&function];
    if (needs.simd) hidden_.simd = function.is_kernel ? "&kymo_simd" : "kymo_simd";
    if (needs.grid) hidden_.grid = "kymo_grid";
  }

  // Its definition.
  std::string write() {
    names_.enter();
    const std::string& symbol = module_.functions.at(&function_);
    if (function_.is_kernel)
      out_ = base::format("{}{}({}) {{\n", dialect_.kernel_head(function_.max_threads), symbol, kernel_parameters());
    else
      out_ = base::format("{}{} {}({}) {{\n", dialect_.function_head(!hidden_.simd.empty()),
                          types_.value(function_.result), symbol, parameters());
    {
      const Inside inside(*this);
      if (function_.is_kernel) kernel_opening();
      for (const auto& [parameter, given] : kept_parameters_)
        line(base::format("{}{} {} = {};", aligned(Form::Memory), types_.spelled(Form::Memory, parameter->type),
                          name(*parameter), types_.store(parameter->type, {given}).text));
      statements(function_.body);
    }
    names_.leave();
    return std::move(out_) + "}\n";
  }

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

  std::string parameters() {
    std::string list;
    const auto add = [&](std::string_view one) { (list += list.empty() ? "" : ", ") += one; };
    if (!hidden_.simd.empty()) add(base::format("{}kymo_simd_memory* kymo_simd", dialect_.space(Space::Threadgroup)));
    if (!hidden_.grid.empty()) add("kymo_grid_type kymo_grid");
    for (const ir::Variable* parameter : function_.parameters) {
      std::string given = name(*parameter);
      if (types_.form_of(*parameter) == Form::Memory) {
        given = names_.take(given + "_in");
        kept_parameters_.emplace_back(parameter, given);
      }
      add(types_.value(parameter->type) + " " + given);
    }
    return list.empty() ? "void" : list;
  }

  std::string kernel_parameters() {
    std::string list;
    const auto add = [&](std::string_view one) { (list += list.empty() ? "" : ", ") += one; };
    for (const ir::Binding& binding : function_.bindings) {
      const Type* type = binding.variable->type;
      const std::string& wanted = name(*binding.variable);
      if (binding.kind == ir::BindingKind::Threadgroup && dialect_.traits.group_memory_by_offset)
        add(base::format("{} {}", dialect_.scalar(TypeKind::UInt),
                         given_[binding.variable] = names_.take(wanted + "_offset")));
      else if (is_cast_argument(binding))
        add(base::format("{}{}* {}", dialect_.space(Space::Threadgroup), dialect_.vector(TypeKind::Float, 4),
                         given_[binding.variable] = names_.take(wanted + "_in")));
      else if (is_loose_argument(binding))
        add(base::format("{}{}* {}", dialect_.space(type->space), dialect_.scalar(TypeKind::UChar),
                         given_[binding.variable] = names_.take(wanted + "_in")));
      else if (binding.kind == ir::BindingKind::Value)
        add(types_.inline_value(type) + " " + (given_[binding.variable] = names_.take(wanted + "_in")));
      else
        add(types_.value(type) + " " + wanted);
    }
    if (!hidden_.grid.empty()) add("kymo_grid_type kymo_grid");
    return list.empty() ? "void" : list;
  }

  void kernel_opening() {
    if (!hidden_.simd.empty()) line(base::format("{}kymo_simd_memory kymo_simd;", dialect_.group_head()));
    declare_group_memory(function_.body);
    for (const ir::Binding& binding : function_.bindings) {
      const Type* type = binding.variable->type;
      const std::string& wanted = name(*binding.variable);
      if (binding.kind == ir::BindingKind::Threadgroup && dialect_.traits.group_memory_by_offset) {
        dialect_.prelude.use("group_memory");
        // The runtime rounds the offsets. The mask only tells the compiler, which then combines accesses to neighbours.
        line(base::format("{0} {1} = ({0})(kymo_group_memory + ({2} & ~{3}u));", types_.value(type), wanted,
                          given_.at(binding.variable), kGroupAlignment - 1));
      } else if (is_cast_argument(binding) || is_loose_argument(binding)) {
        line(base::format("{0} {1} = ({0}){2};", types_.value(type), wanted, given_.at(binding.variable)));
      } else if (binding.kind == ir::BindingKind::Value) {
        const std::string& given = given_.at(binding.variable);
        const std::string pointer =
            base::format("{}{}*", dialect_.space(Space::Device), types_.spelled(Form::Memory, type));
        CText there = types_.load(type, c_prefix("*", c_cast(pointer, {given + ".address"})));
        CText here = types_.load(type, {given + ".value"});
        CText taken{base::format("{}.address != 0 ? {} : {}", given, std::move(there).in(Binding::LogicalOr),
                                 std::move(here).in(Binding::LogicalOr)),
                    Binding::Conditional};
        const Form form = types_.form_of(*binding.variable);
        if (form == Form::Memory) taken = types_.store(type, std::move(taken));
        line(base::format("{}{} {} = {};", aligned(form), types_.spelled(form, type), wanted, taken.text));
      }
    }
  }

  // Drivers align the memory of an argument for its type, which must then be the widest that it is used as.
  bool is_cast_argument(const ir::Binding& binding) const {
    return binding.kind == ir::BindingKind::Threadgroup && module_.casts_group_memory;
  }

  // A compiler may compute the lowest bits of an address from the type of the argument. A tensor of 8 or 16 bits that
  // is passed to be changed by words may begin inside of a word.
  bool is_loose_argument(const ir::Binding& binding) const {
    return binding.kind == ir::BindingKind::Buffer && module_.reads_addresses &&
           dialect_.traits.trusts_argument_types && binding.variable->type->inner->align > 1;
  }

  // Before the type of a thread's variable that may be used as another type.
  std::string aligned(Form form) const { return form == Form::Memory ? dialect_.aligned(kGroupAlignment) : ""; }

  // Wherever they are declared, variables of the group are the kernel's.
  void declare_group_memory(const ir::Block& block) {
    ir::for_each_statement(block, [&](const ir::Statement& statement) {
      if (statement.kind != ir::StatementKind::Declare) return;
      const ir::Variable& variable = *statement.variable;
      if (variable.space != Space::Threadgroup) return;
      const bool is_array = variable.type->is_array();
      if (is_array) plain_arrays_.insert(&variable);
      const bool is_aligned = module_.casts_group_memory || (is_array && dialect_.traits.aligns_group_arrays);
      line(std::string(dialect_.group_head()) + (is_aligned ? dialect_.aligned(kGroupAlignment) : "") +
           types_.declaration(Form::Memory, variable.type, name(variable)) + ";");
    });
  }

  std::string& name(const ir::Variable& variable) {
    std::string& chosen = variables_[&variable];
    if (chosen.empty()) chosen = names_.take(variable.name);
    return chosen;
  }

  // ---- Statements
  // in its own scope, without braces
  void block(const ir::Block& statements) {
    if (indent_.size() / 2 > kMaxBlocks)
      throw Rejected{
          statements.empty() ? function_.at : statements.front()->at,
          base::format("blocks are nested more than {} deep; move parts of them into functions", kMaxBlocks)};
    const Inside inside(*this);
    this->statements(statements);
  }

  // In the current scope.
  void statements(const ir::Block& block) {
    for (const ir::Statement* one : block) statement(*one);
  }

  void state_line(const Location& at) {
    if (dialect_.lines == nullptr || at.line == 0 || at.file >= dialect_.lines->size()) return;
    const SourceFiles::Shown shown = dialect_.lines->shown(at);
    if (shown.name.find_first_of("\"\\\n") == shown.name.npos)
      base::format_to(out_, "#line {} \"{}\"\n", shown.line, shown.name);
  }

  void statement(const ir::Statement& statement) {
    state_line(statement.at);
    switch (statement.kind) {
      case StatementKind::Declare:
        return declare(statement);
      case StatementKind::Assign:
        if (const auto text = assignment(statement)) return line(*text + ";");
        return swizzle_assignment(statement);
      case StatementKind::Evaluate:
        if (ir::has_call(*statement.value)) line(value(*statement.value).text + ";");
        return;
      case StatementKind::Block: {
        const ir::Block& body = statement.body;
        if (body.size() == 2 && body[0]->kind == StatementKind::Declare && body[1]->kind == StatementKind::Loop &&
            body[0]->variable->space == Space::Thread && body[1]->before.empty()) {
          names_.enter();
          loop(*body[1], body[0]);
          return names_.leave();
        }
        line("{");
        block(body);
        return line("}");
      }
      case StatementKind::If:
        return if_statement(statement);
      case StatementKind::Loop:
        return loop(statement, nullptr);
      case StatementKind::DoLoop:
        return do_loop(statement);
      case StatementKind::Switch:
        return switch_statement(statement);
      case StatementKind::Break:
        return line("break;");
      case StatementKind::Continue:
        return line("continue;");
      case StatementKind::Return:
        return line(statement.value == nullptr ? "return;" : "return " + value(*statement.value).text + ";");
    }
  }

  void declare(const ir::Statement& statement) {
    if (statement.variable->space == Space::Threadgroup) return;  // at the top of its kernel
    const std::string text = declaration(statement);
    if (!text.empty()) line(text + ";");
  }

  std::string declaration(const ir::Statement& statement) {
    const ir::Variable& variable = *statement.variable;
    const Type* type = variable.type;
    const ir::Expression* first = statement.value;
    const Form form = types_.form_of(variable);
    if (hoisted_.contains(&variable)) {
      if (first == nullptr) return {};
      const Place place{{name(variable)}, form, Space::Thread, type->is_array()};
      return whole(place, type).text + " = " + value_for(form, *first).text;
    }
    if (type->is_array() && (first == nullptr || c_is_plain_aggregate(*first))) {
      plain_arrays_.insert(&variable);
      std::string text = aligned(form) + types_.declaration(form, type, name(variable));
      if (first != nullptr) text += " = " + plain_parts(form, *first);
      return text;
    }
    std::string text = aligned(form) + types_.spelled(form, type) + " " + name(variable);
    if (first != nullptr) text += " = " + value_for(form, *first).text;
    return text;
  }

  std::string plain_parts(Form form, const ir::Expression& array) {
    if (array.kind == ir::ExpressionKind::Zero) return base::format("{{{}}}", dialect_.zeros());
    std::string text;
    for (const ir::Expression* part : array.operands)
      (text += text.empty() ? "{" : ", ") +=
          part->type->is_array() ? plain_parts(form, *part) : value_for(form, *part).text;
    return text + "}";
  }

  void if_statement(const ir::Statement& statement) {
    const ir::Statement* at = &statement;
    line("if (" + value(*at->value).text + ") {");
    while (true) {
      block(at->body);
      if (at->otherwise.empty()) break;
      const bool is_chain = at->otherwise.size() == 1 && at->otherwise[0]->kind == StatementKind::If;
      if (!is_chain) {
        line("} else {");
        block(at->otherwise);
        break;
      }
      at = at->otherwise[0];
      line("} else if (" + value(*at->value).text + ") {");
    }
    line("}");
  }

  void switch_statement(const ir::Statement& statement) {
    const Type* type = statement.value->type;
    line("switch (" + value(*statement.value).text + ") {");
    indent_ += "  ";
    for (const ir::Case& one : statement.cases) {
      for (const int64_t label : one.values)
        line("case " + c_constant(dialect_, type, static_cast<uint64_t>(label)).text + ":");
      if (one.is_default || one.values.empty()) line("default:");
      out_.back() = ' ';
      out_ += "{\n";
      block(one.body);
      line("}");
    }
    indent_.resize(indent_.size() - 2);
    line("}");
  }

  // The line before it that asks for it.
  void unroll(const ir::Statement& loop, const ir::Statement* first) {
    uint16_t wish = loop.unroll;
    if (wish == kNoUnrollWish && dialect_.traits.unrolls_without_wish && first != nullptr &&
        should_unroll(*first, loop))
      wish = kUnrollAll;
    if (wish != kNoUnrollWish) out_ += dialect_.unrolling(wish);
  }

  void loop(const ir::Statement& statement, const ir::Statement* first) {
    const std::string start = first != nullptr ? declaration(*first) : std::string();
    if (statement.before.empty()) {
      if (const auto step = header_step(statement.step)) {
        const std::string condition = statement.value != nullptr ? value(*statement.value).text : "";
        if (start.empty() && step->empty())
          line("while (" + (condition.empty() ? "true" : condition) + ") {");
        else {
          unroll(statement, first);
          line(base::format("for ({};{}{};{}{}) {{", start, condition.empty() ? "" : " ", condition,
                            step->empty() ? "" : " ", *step));
        }
        block(statement.body);
        return line("}");
      }
    }
    if (first == nullptr) return general_loop(statement);
    line("{");
    {
      const Inside inside(*this);
      line(start + ";");
      general_loop(statement);
    }
    line("}");
  }

  // The statement's own order: the head, the body, the step. Of a do-loop: the body, the head.
  void general_loop(const ir::Statement& statement) {
    const bool is_do = statement.kind == StatementKind::DoLoop;
    const bool continues = ir::has_continue(statement.body) && (is_do || !statement.step.empty());
    if (continues) hoist_shared(statement);
    const auto head = [&] {
      statements(statement.before);
      if (statement.value != nullptr) line("if (" + c_prefix("!", value(*statement.value)).text + ") break;");
    };
    names_.enter();
    // Continue goes to the step: it is executed at the start of every iteration but the first.
    const std::string again = continues ? names_.take("again") : std::string();
    line(continues ? base::format("for (bool {0} = false;; {0} = true) {{", again) : "while (true) {");
    {
      const Inside inside(*this);
      if (continues) {
        line("if (" + again + ") {");
        {
          const Inside later(*this);
          is_do ? head() : statements(statement.step);
        }
        line("}");
      }
      if (!is_do) head();
      statements(statement.body);
      if (!continues) is_do ? head() : statements(statement.step);
    }
    line("}");
    names_.leave();
  }

  void do_loop(const ir::Statement& statement) {
    if (statement.before.empty()) {
      line("do {");
      block(statement.body);
      return line("} while (" + value(*statement.value).text + ");");
    }
    general_loop(statement);
  }

  // The step as an expression for the head of a `for`; empty if it needs several statements.
  std::optional<std::string> header_step(const ir::Block& step) {
    std::string text;
    for (const ir::Statement* one : step) {
      std::optional<std::string> part;
      if (one->kind == StatementKind::Assign) part = assignment(*one);
      if (one->kind == StatementKind::Evaluate) part = value(*one->value).text;
      if (!part) return std::nullopt;
      (text += text.empty() ? "" : ", ") += *part;
    }
    return text;
  }

  // Variables of `before` that the step uses live longer than one iteration: they are declared before the loop.
  void hoist_shared(const ir::Statement& loop) {
    if (loop.step.empty()) return;
    std::unordered_set<const ir::Variable*> used;
    ir::for_each_expression(loop.step, [&](const ir::Expression& one) { used.insert(one.variable); });
    for (const ir::Statement* one : loop.before) {
      if (one->kind != StatementKind::Declare || !used.contains(one->variable)) continue;
      if (one->variable->type->is_array()) plain_arrays_.insert(one->variable);
      const Form form = types_.form_of(*one->variable);
      line(aligned(form) + types_.declaration(form, one->variable->type, name(*one->variable)) + ";");
      hoisted_.insert(one->variable);
    }
  }

  void line(std::string_view text) { ((out_ += indent_) += text) += '\n'; }

  // ---- Places
  Place place(const ir::Expression& expression) {
    switch (expression.kind) {
      case ExpressionKind::Variable: {
        const ir::Variable& variable = *expression.variable;
        const bool is_program = variable.space == Space::Program;
        return {{is_program ? module_.constants.at(&variable) : name(variable)},
                types_.form_of(variable),
                variable.space,
                variable.type->is_array() && (is_program || plain_arrays_.contains(&variable))};
      }
      case ExpressionKind::Dereference: {
        const ir::Expression& pointer = *expression.operands[0];
        const Space space = pointer.type->space;
        if (pointer.kind != ExpressionKind::PointerAdd)
          return {c_prefix("*", value(pointer)), types_.form_in(space), space};
        std::string text = value(*pointer.operands[0]).in(Binding::Postfix);
        return {{base::format("{}[{}]", text, offset(*pointer.operands[1]).text)}, types_.form_in(space), space};
      }
      case ExpressionKind::Member:
        return member(expression);
      case ExpressionKind::Index:
        return index(expression);
      case ExpressionKind::Swizzle: {
        if (is_loose(*expression.operands[0])) return {read(expression)};
        Place vector = base(*expression.operands[0]);
        vector.text = dialect_.swizzle(std::move(vector.text), {expression.swizzle, expression.index});
        return vector;
      }
      default:
        return {value(expression)};
    }
  }

  // Also for expressions that are not places.
  Place base(const ir::Expression& expression) {
    return ir::is_place(expression) ? place(expression) : Place{value(expression)};
  }

  Place member(const ir::Expression& expression) {
    const ir::Expression& object = *expression.operands[0];
    const std::string& field = types_.field(object.type, expression.index);
    if (object.kind == ExpressionKind::Dereference && object.operands[0]->kind != ExpressionKind::PointerAdd) {
      const Space space = object.operands[0]->type->space;
      return {{value(*object.operands[0]).in(Binding::Postfix) + "->" + field}, types_.form_in(space), space};
    }
    Place place = base(object);
    place.text = c_member(std::move(place.text), field);
    return place;
  }

  Place index(const ir::Expression& expression) {
    const ir::Expression& object = *expression.operands[0];
    const ir::Expression& position = *expression.operands[1];
    Place place = base(object);
    if (object.type->is_array() || object.type->packed) {
      if (!place.is_plain_array) place.text = c_member(std::move(place.text), "v");
      place.text = {base::format("{}[{}]", std::move(place.text).in(Binding::Postfix), offset(position).text)};
      place.is_plain_array &= expression.type->is_array();
      if (object.type->packed) place.form = Form::Memory;
      return place;
    }
    if (is_loose(object)) {  // a compiler may read the whole vector for a component of it
      place.text = {base::format("(({}{}*){})[{}]", dialect_.space(place.space),
                                 types_.pointed(place.form, expression.type), c_prefix("&", std::move(place.text)).text,
                                 offset(position).text)};
      return place;
    }
    if (c_places_is_constant_index(position)) {
      place.text = c_member(std::move(place.text), component_name(static_cast<uint32_t>(position.bits)));
      return place;
    }
    place.text = dialect_.component_place(types_.spelled(place.form, expression.type), dialect_.space(place.space),
                                          std::move(place.text), value(position));
    return place;
  }

  CText read(const ir::Expression& expression) {
    if (c_places_is_of_vector(expression) && expression.operands[0]->kind == ExpressionKind::Intrinsic &&
        is_position(expression.operands[0]->intrinsic) && c_places_is_constant_index(*expression.operands[1]))
      return dialect_.position(expression.operands[0]->intrinsic, static_cast<uint32_t>(expression.operands[1]->bits),
                               hidden_);
    // A vector may be in registers, so its address is not taken.
    if (c_places_is_of_vector(expression) && !expression.operands[0]->type->packed &&
        !c_places_is_constant_index(*expression.operands[1])) {
      const ir::Expression& vector = *expression.operands[0];
      Place whole_vector = base(vector);
      if (whole_vector.form == Form::Value)
        return dialect_.component(vector.type, std::move(whole_vector.text), value(*expression.operands[1]));
    }
    if (expression.kind == ExpressionKind::Swizzle && expression.operands[0]->type->packed) {
      const ir::Expression& packed = *expression.operands[0];
      return dialect_.swizzle(types_.unpack(packed.type, whole(base(packed), packed.type)),
                              {expression.swizzle, expression.index});
    }
    if (expression.kind == ExpressionKind::Swizzle && is_loose(*expression.operands[0]))
      return dialect_.swizzle(read(*expression.operands[0]), {expression.swizzle, expression.index});
    Place found = place(expression);
    CText text = whole(found, expression.type);
    if (is_loose(expression))
      text = dialect_.loose_load(expression.type->count, types_.pointed(found.form, expression.type->inner),
                                 dialect_.space(found.space), std::move(text));
    return found.form == Form::Memory ? types_.load(expression.type, std::move(text)) : text;
  }

  // C extends a position in memory as the conversion to long would.
  CText offset(const ir::Expression& position) {
    if (position.kind != ExpressionKind::Convert || !position.type->is(TypeKind::Long)) return value(position);
    const ir::Expression& narrow = *position.operands[0];
    return value(narrow.type->is_integer() && narrow.type->size < position.type->size ? narrow : position);
  }

  CText address_of(const ir::Expression& expression) {
    Place object = place(*expression.operands[0]);
    const bool needs_cast =
        object.is_plain_array || (object.space == Space::Program && dialect_.traits.pointers_lose_const);
    CText address = c_prefix("&", std::move(object.text));
    return needs_cast ? c_cast(types_.value(expression.type), std::move(address)) : address;
  }

  CText decay(const ir::Expression& expression) {
    const ir::Expression& array = *expression.operands[0];
    Place object = place(array);
    const bool needs_cast = (object.is_plain_array && array.type->inner->is_array()) ||
                            (object.space == Space::Program && dialect_.traits.pointers_lose_const);
    CText first = object.is_plain_array ? std::move(object.text) : c_member(std::move(object.text), "v");
    return needs_cast ? c_cast(types_.value(expression.type), std::move(first)) : first;
  }

  // A vector in memory whose alignment is not known.
  bool is_loose(const ir::Expression& place) const {
    if (module_.loose.empty() || !place.type->is_vector() || place.type->packed || !ir::is_place(place) ||
        place.kind == ExpressionKind::Swizzle)
      return false;
    const ir::Expression& root = ir::place_root(place);
    return root.kind == ExpressionKind::Dereference && module_.loose.contains(root.type) &&
           (root.operands[0]->type->space != Space::Thread || types_.is_thread_exact());
  }

  // An array as one value.
  CText whole(const Place& place, const Type* type) {
    if (!place.is_plain_array) return place.text;
    const std::string structure = types_.spelled(place.form, type);
    return c_prefix("*", c_cast(base::format("{}{}*", dialect_.space(place.space), structure), place.text));
  }

  // Through swizzles of swizzles down to the vector.
  Components components(const ir::Expression& expression) const {
    Components found{&expression, {}};
    for (uint32_t i = 0; i < expression.type->components(); ++i) found.which.push_back(static_cast<uint8_t>(i));
    while (true) {
      const ir::Expression& at = *found.vector;
      if (at.kind == ExpressionKind::Swizzle)
        for (uint8_t& which : found.which) which = at.swizzle[which];
      else if (c_places_is_of_vector(at))
        found.which = {static_cast<uint8_t>(at.operands[1]->bits)};
      else
        return found;
      found.vector = at.operands[0];
    }
  }

  // Empty: it needs several statements.
  std::optional<std::string> assignment(const ir::Statement& statement) {
    const ir::Expression& target = *statement.place;
    if (target.kind == ExpressionKind::Swizzle) return std::nullopt;
    if (c_places_is_of_vector(target) && !target.operands[0]->type->packed)
      return component_assignment(target, *statement.value);
    if (auto shorter = in_place(statement)) return shorter;
    const Place place = this->place(target);
    if (is_loose(target))
      return dialect_.loose_store(target.type->count, types_.pointed(place.form, target.type->inner),
                                  dialect_.space(place.space), whole(place, target.type),
                                  value_for(place.form, *statement.value));
    return whole(place, target.type).text + " = " + value_for(place.form, *statement.value).text;
  }

  // One component: in memory that others see, no other is touched.
  std::string component_assignment(const ir::Expression& target, const ir::Expression& from) {
    const ir::Expression& position = *target.operands[1];
    const bool is_constant = c_places_is_constant_index(position);
    if (target.operands[0]->kind == ExpressionKind::Swizzle && !is_constant)
      throw Rejected{target.at,
                     "a component of a swizzle with a variable index cannot be written; use the vector itself"};
    const Components chosen = is_constant ? components(target) : Components{target.operands[0], {}};
    Place vector = place(*chosen.vector);
    CText given = value_for(vector.form, from);
    const bool is_separate = vector.form == Form::Value || !dialect_.traits.has_swizzles;
    CText component =
        is_constant && is_separate
            ? c_member(std::move(vector.text), component_name(chosen.which[0]))
            : dialect_.component_place(types_.spelled(vector.form, target.type), dialect_.space(vector.space),
                                       std::move(vector.text),
                                       is_constant ? CText{std::to_string(chosen.which[0])} : value(position));
    return component.text + " = " + given.text;
  }

  // A float is stored to half memory directly: the store rounds.
  CText value_for(Form form, const ir::Expression& from) {
    if (form == Form::Value) return value(from);
    if (from.kind == ExpressionKind::Convert && from.type->scalar()->is(TypeKind::Half)) {
      const ir::Expression& wide = *from.operands[0];
      if (!from.type->packed && !wide.type->packed && wide.type->scalar()->is(TypeKind::Float))
        return types_.store(from.type, value(wide));
    }
    return types_.store(from.type, value(from));
  }

  // x = x + 1 as people write it.
  std::optional<std::string> in_place(const ir::Statement& statement) {
    const ir::Expression& target = *statement.place;
    const ir::Expression& from = *statement.value;
    if (target.kind != ExpressionKind::Variable || from.kind != ExpressionKind::Binary) return std::nullopt;
    if (from.op >= ir::Operator::Equal || types_.form_of(*target.variable) != Form::Value) return std::nullopt;
    if (from.operands[0]->kind != ExpressionKind::Variable || from.operands[0]->variable != target.variable)
      return std::nullopt;
    const Type* type = target.type;
    if (!type->is_scalar() || type->is(TypeKind::Bool)) return std::nullopt;
    const ir::Expression& by = *from.operands[1];
    const bool is_one = type->is_integer() && by.kind == ExpressionKind::Constant && by.bits == 1;
    if (is_one && from.op == ir::Operator::Add) return "++" + name(*target.variable);
    if (is_one && from.op == ir::Operator::Subtract) return "--" + name(*target.variable);
    return base::format("{} {}= {}", name(*target.variable), operator_sign(from.op), value(by).text);
  }

  void swizzle_assignment(const ir::Statement& statement) {
    const Components chosen = components(*statement.place);
    const Type* type = statement.place->type;
    Place vector = place(*chosen.vector);
    const bool is_own = vector.form == Form::Value && !chosen.vector->type->packed;
    if (is_own && dialect_.traits.has_swizzles) {
      const CText target = dialect_.swizzle(std::move(vector.text), chosen.which);
      return line(base::format("{} = {};", target.text, value(*statement.value).text));
    }
    if (chosen.vector->type->packed) vector.form = Form::Memory;
    line("{");
    {
      const Inside inside(*this);
      const std::string from = names_.take("from"), to = names_.take("to");
      const std::string pointer =
          base::format("{}{}*", dialect_.space(vector.space), types_.spelled(vector.form, type->inner));
      line(base::format("{} {} = {};", types_.value(type), from, value(*statement.value).text));
      line(base::format("{0} {1} = ({0})&{2};", pointer, to, std::move(vector.text).in(Binding::Prefix)));
      for (uint32_t i = 0; i < chosen.which.size(); ++i) {
        CText one = c_member({from}, component_name(i));
        if (vector.form == Form::Memory) one = types_.store(type->inner, std::move(one));
        line(base::format("{}[{}] = {};", to, chosen.which[i], one.text));
      }
    }
    line("}");
  }

  // ---- Values
  CText value(const ir::Expression& expression) {
    if (++depth_ > kMaxNesting)
      throw Rejected{
          expression.at,
          base::format("an expression is nested more than {} deep; keep parts of it in variables", kMaxNesting)};
    CText text = value_of(expression);
    --depth_;
    return text;
  }

  CText value_of(const ir::Expression& expression) {
    const auto operand = [&](size_t i) { return value(*expression.operands[i]); };
    switch (expression.kind) {
      case ExpressionKind::Constant:
        return c_constant(dialect_, expression.type, expression.bits);
      case ExpressionKind::Null:
        return c_cast(types_.value(expression.type), {"0"});
      case ExpressionKind::Variable:
      case ExpressionKind::Dereference:
      case ExpressionKind::Member:
      case ExpressionKind::Index:
      case ExpressionKind::Swizzle:
        return read(expression);
      case ExpressionKind::AddressOf:
        return address_of(expression);
      case ExpressionKind::Decay:
        return decay(expression);
      case ExpressionKind::PointerAdd:
        return c_joined("+", Binding::Sum, operand(0), offset(*expression.operands[1]));
      case ExpressionKind::PointerCast:
        return pointer_cast(expression);
      case ExpressionKind::PointerDifference:
        return c_cast(dialect_.scalar(TypeKind::Long), c_joined("-", Binding::Sum, operand(0), operand(1)));
      case ExpressionKind::Unary:
        return unary(expression);
      case ExpressionKind::Binary:
        return binary(expression);
      case ExpressionKind::LogicalAnd:
        return c_joined("&&", Binding::LogicalAnd, operand(0), operand(1));
      case ExpressionKind::LogicalOr:
        return c_joined("||", Binding::LogicalOr, operand(0), operand(1));
      case ExpressionKind::Conditional:
        return {base::format("{} ? {} : {}", operand(0).in(Binding::LogicalOr), operand(1).in(Binding::LogicalOr),
                             operand(2).in(Binding::Conditional)),
                Binding::Conditional};
      case ExpressionKind::Convert:
        return convert(expression);
      case ExpressionKind::Splat:
        return dialect_.splat(expression.type, operand(0));
      case ExpressionKind::Construct:
        return construct(expression);
      case ExpressionKind::Zero:
        return zero(expression.type);
      case ExpressionKind::Bitcast:
        return bitcast(expression);
      case ExpressionKind::Call:
        return call(expression);
      case ExpressionKind::Intrinsic:
        return intrinsic(expression);
    }
    return {};
  }

  // Long sums are deep to the left: no recursion there.
  CText binary(const ir::Expression& expression) {
    std::vector<const ir::Expression*> chain{&expression};
    while (chain.back()->operands[0]->kind == ExpressionKind::Binary) chain.push_back(chain.back()->operands[0]);
    CText text = value(*chain.back()->operands[0]);
    for (; !chain.empty(); chain.pop_back())
      text = one_binary(*chain.back(), std::move(text), value(*chain.back()->operands[1]));
    return text;
  }

  CText one_binary(const ir::Expression& expression, CText left, CText right) {
    const Type* type = expression.operands[0]->type;
    if (type->is_vector())
      return dialect_.binary(expression.op, type, expression.operands[1]->type, std::move(left), std::move(right));
    if (type->is(TypeKind::Bool)) {  // of which C makes an int
      if (expression.op == Operator::Xor) return c_binary(Operator::NotEqual, std::move(left), std::move(right));
      if (expression.op == Operator::And || expression.op == Operator::Or)
        return c_cast(dialect_.scalar(TypeKind::Bool), c_binary(expression.op, std::move(left), std::move(right)));
    }
    return c_binary(expression.op, std::move(left), std::move(right));
  }

  CText unary(const ir::Expression& expression) {
    const ir::Expression& operand = *expression.operands[0];
    if (operand.type->is_vector()) return dialect_.unary(expression.op, operand.type, value(operand));
    return c_prefix(operator_sign(expression.op), value(operand));
  }

  CText convert(const ir::Expression& expression) {
    const ir::Expression& operand = *expression.operands[0];
    return convert(operand.type, expression.type, value(operand));
  }

  CText convert(const Type* from, const Type* to, CText text) {
    const bool from_packed = from->is_vector() && from->packed, to_packed = to->is_vector() && to->packed;
    if (from_packed && to_packed && from->inner == to->inner) return text;
    if (from_packed) text = types_.unpack(from, std::move(text));
    const Type* from_scalar = from->scalar();
    const Type* to_scalar = to->scalar();
    const uint32_t count = to->components();
    if (from_scalar != to_scalar) {
      const bool is_half = to_scalar->is(TypeKind::Half), is_bfloat = to_scalar->is(TypeKind::BFloat);
      if (is_half || is_bfloat) {
        text =
            dialect_.convert16(is_half ? "kymo_round_to_half" : "kymo_round_to_bfloat", false, count, std::move(text));
      } else if (to->is_vector()) {
        if (held_as(from_scalar) != held_as(to_scalar)) text = dialect_.convert(from, to, std::move(text));
      } else if (to->is(TypeKind::Bool)) {
        text = c_binary(Operator::NotEqual, std::move(text), {from_scalar->is_floating() ? "0.0f" : "0"});
      } else if (held_as(from_scalar) != held_as(to_scalar)) {
        text = c_cast(dialect_.scalar(held_as(to_scalar)), std::move(text));
      }
    }
    return to_packed ? types_.pack(to, std::move(text)) : text;
  }

  CText construct(const ir::Expression& expression) {
    const Type* type = expression.type;
    std::vector<CText> parts;
    bool has_vectors = false;
    for (const ir::Expression* part : expression.operands) {
      parts.push_back(value(*part));
      has_vectors |= part->type->is_vector();
    }
    if (type->is_vector())
      return dialect_.construct(types_.value(type), dialect_.scalar(held_as(type->inner)), has_vectors, parts);
    if (parts.empty()) return zero(type);
    const std::string list = c_list(parts);
    return {dialect_.aggregate(types_.value(type), type->is_array() ? "{" + list + "}" : list)};
  }

  CText zero(const Type* type) {
    if (type->is_scalar()) return c_constant(dialect_, type, 0);
    if (type->is_pointer()) return c_cast(types_.value(type), {"0"});
    if (type->is_vector() && !type->packed) return dialect_.splat(type, c_constant(dialect_, type->inner, 0));
    return {dialect_.aggregate(types_.value(type), dialect_.zeros())};
  }

  // The bytes are those of memory.
  CText bitcast(const ir::Expression& expression) {
    const ir::Expression& operand = *expression.operands[0];
    CText bytes = types_.store(operand.type, value(operand));
    if (operand.type->is(TypeKind::Bool)) bytes = c_cast(dialect_.scalar(TypeKind::UChar), std::move(bytes));
    const std::string from = types_.spelled(Form::Memory, operand.type);
    const std::string to = types_.spelled(Form::Memory, expression.type);
    if (from != to) bytes = dialect_.bitcast(to, std::move(bytes));
    return types_.load(expression.type, std::move(bytes));
  }

  CText pointer_cast(const ir::Expression& expression) {
    const ir::Expression& operand = *expression.operands[0];
    const Type* to = expression.type;
    const Type* from = operand.type;
    CText text = value(operand);
    const std::string wanted = types_.value(to);
    if (from->is_pointer() && to->is_pointer() && types_.value(from) == wanted) return text;
    return c_cast(wanted, std::move(text));
  }

  CText call(const ir::Expression& expression) {
    const CNeeds needs = module_.needs[expression.function];
    std::vector<CText> arguments;
    if (needs.simd) arguments.push_back({std::string(hidden_.simd)});
    if (needs.grid) arguments.push_back({std::string(hidden_.grid)});
    for (const ir::Expression* operand : expression.operands) arguments.push_back(value(*operand));
    return c_call_with(module_.functions.at(expression.function), arguments);
  }

  CText intrinsic(const ir::Expression& expression) {
    std::vector<CText> operands;
    for (const ir::Expression* operand : expression.operands) operands.push_back(value(*operand));
    // One of two numbers: written as a ? b : c if evaluating only one makes no difference.
    const bool is_choice = expression.intrinsic == ir::Intrinsic::Select && !expression.operands[2]->type->is_vector();
    if (is_choice && !c_has_effects(*expression.operands[0]) && !c_has_effects(*expression.operands[1]))
      return {
          base::format("{} ? {} : {}", std::move(operands[2]).in(Binding::LogicalOr),
                       std::move(operands[1]).in(Binding::LogicalOr), std::move(operands[0]).in(Binding::Conditional)),
          Binding::Conditional};
    return dialect_.intrinsic(expression, operands, hidden_);
  }

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

class CModuleWriter {
 public:
  CModuleWriter(const ir::Module& module, CDialect& dialect)
      : source_(module), dialect_(dialect), names_(dialect.reserved()), types_(dialect, names_) {}

  Emitted write() {
    const std::vector<const ir::Function*> functions = ir::Uses(source_).reachable_from_kernels();
    if (functions.empty()) return {};
    module_.functions = name_functions(functions, names_);
    for (const ir::Function* function : functions) module_.needs[function] = needs_of(*function);
    if (multiplies_matrices_) dialect_.prelude.use("simd_matrix_memory");
    if (uses_simd_memory_) dialect_.prelude.use("simd_memory");
    if (reinterprets_) types_.let_pointers_alias();
    if (types_.is_thread_exact()) module_.loose.insert(loose_in_thread_.begin(), loose_in_thread_.end());
    const std::string constants = write_constants();
    std::string code;
    Emitted emitted;
    for (const ir::Function* function : functions) {
      if (!code.empty()) code += '\n';
      code += CFunction(module_, *function).write();
      if (function->is_kernel) emitted.kernels.push_back(describe(*function));
    }
    const std::string types = types_.take_text();
    emitted.text = dialect_.opening();
    for (const std::string_view part : {std::string_view(dialect_.prelude.text()), std::string_view(types),
                                        std::string_view(constants), std::string_view(code)})
      if (!part.empty()) (emitted.text += '\n') += part;
    return emitted;
  }

 private:
  void look_at_cast(const ir::Expression& cast) {
    const Type *from = cast.operands[0]->type, *to = cast.type;
    module_.reads_addresses |= from->is_pointer() && from->space == Space::Device && !to->is_pointer();
    if (!from->is_pointer() || !to->is_pointer()) return;
    if (to->inner == from->inner) return;
    reinterprets_ = true;
    const bool is_exact = types_.is_same(to->inner) && types_.is_same(from->inner);
    if (to->space == Space::Thread && !is_exact) types_.keep_thread_memory_exact();
    if (to->inner->align <= from->inner->align) return;
    module_.casts_group_memory |= to->space == Space::Threadgroup;
    (to->space == Space::Thread ? loose_in_thread_ : module_.loose).insert(to->inner);
  }

  // Of a function whose callees are finished.
  CNeeds needs_of(const ir::Function& function) {
    CNeeds needs;
    const auto see = [&](const ir::Expression& expression) {
      if (expression.kind == ir::ExpressionKind::Call) {
        const CNeeds callee = module_.needs[expression.function];
        needs.simd |= callee.simd;
        needs.grid |= callee.grid;
      } else if (expression.kind == ir::ExpressionKind::Intrinsic) {
        const ir::Intrinsic intrinsic = expression.intrinsic;
        needs.simd |= intrinsic >= ir::Intrinsic::SimdSum && intrinsic <= ir::Intrinsic::GroupAny;
        needs.grid |= dialect_.needs_grid(intrinsic, function.is_kernel);
        multiplies_matrices_ |= intrinsic == ir::Intrinsic::SimdMatrix && dialect_.traits.needs_simd_memory;
      } else if (expression.kind == ir::ExpressionKind::PointerCast) {
        look_at_cast(expression);
      }
    };
    ir::for_each_expression(function.body, see);
    if (function.is_kernel && dialect_.traits.pieces_need_grid)
      needs.grid |= reflect(source_, function).uses_simdgroups;
    needs.simd &= dialect_.traits.needs_simd_memory;
    uses_simd_memory_ |= needs.simd;
    if (needs.grid) dialect_.prelude.use("grid");
    return needs;
  }

  std::string write_constants() {
    std::string text;
    for (const ir::Variable* constant : source_.constants) {
      const std::string& name = module_.constants[constant] = names_.take_outermost(constant->name);
      const std::string declared = types_.declaration(Form::Memory, constant->type, name);
      const std::string value = c_initializer(dialect_, types_, *constant->value);
      text += base::format("{}{} = {};\n", dialect_.program_head(), declared, value);
    }
    return text;
  }

  Kernel describe(const ir::Function& function) {
    Kernel kernel = reflect(source_, function);
    kernel.symbol = module_.functions.at(&function);
    kernel.takes_grid = module_.needs.at(&function).grid;
    return kernel;
  }

  const ir::Module& source_;
  bool reinterprets_ = false;  // the same bytes may be numbers of several types
  bool uses_simd_memory_ = false, multiplies_matrices_ = false;
  CDialect& dialect_;
  Names names_;
  CTypes types_;
  CModule module_{dialect_, names_, types_};
  std::unordered_set<const Type*> loose_in_thread_;  // see CModule::loose
};

}  // namespace

Emitted emit_c(const ir::Module& module, CDialect& dialect) { return CModuleWriter(module, dialect).write(); }

}  // namespace kymo::shader
