// Whole functions and their statements.

#include "shader/emit/glsl_writer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shader/ir/uses.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader::glsl {

std::string Writer::function() {
  const ir::Function& function = *instance_.function;
  unit_.at = function.at;
  enter();
  std::string parameters;
  std::vector<std::pair<Cell*, Text>> copies;
  size_t next = 0;
  for (const ir::Variable* parameter : function.parameters) {
    Cell& known = cell(*parameter);
    std::string type;
    if (is_static_pointer(parameter->type)) {
      const uint32_t ints = instance_.arguments[next++].ints();
      if (ints == 0) {
        if (known.shapes[0].ints() != 0) copies.emplace_back(&known, Text{"0"});
        continue;
      }
      type = unit_.types.vector_name(TypeKind::Int, ints);
    } else {
      next += unit_.types.static_pointers(parameter->type);
      type = unit_.types.name(parameter->type);
    }
    const std::string name = unit_.names.take(parameter->name);
    (parameters += parameters.empty() ? "" : ", ") += base::format("{} {}", type, name);
    if (known.is_rooted)
      copies.emplace_back(&known, Text{name});
    else
      known.name = name;
  }
  std::string result = unit_.types.name(function.result);
  if (is_static_pointer(function.result) && !instance_.result.empty())
    result = unit_.types.vector_name(TypeKind::Int, std::max(1U, instance_.result[0].ints()));
  for (const auto& [known, text] : copies) begin(*known, text);
  body();
  leave();
  return base::format("{} {}({}) {{\n{}}}\n", result, instance_.name, parameters, take_text());
}

// ---- Statements -----------------------------------------------------------------------------------------------------

namespace {

using ir::ExpressionKind;
using ir::Operator;
using ir::StatementKind;

bool glsl_is_same_variable(const ir::Expression& a, const ir::Expression& b) {
  return &a == &b ||
         (a.kind == ExpressionKind::Variable && b.kind == ExpressionKind::Variable && a.variable == b.variable);
}

}  // namespace

void Writer::line(std::string_view text) {
  out_.append(size_t{2} * indent_, ' ');
  out_ += text;
  out_ += '\n';
}

void Writer::body() { block(instance_.function->body); }

void Writer::block(const ir::Block& block) {
  for (const ir::Statement* each : block) statement(*each);
}

void Writer::braced(const ir::Block& inner) {
  {
    const Inside inside(*this);
    block(inner);
  }
  line("}");
}

void Writer::statement(const ir::Statement& statement) {
  if (statement.at.line != 0) unit_.at = statement.at;
  switch (statement.kind) {
    case StatementKind::Declare:
      return declare(statement);
    case StatementKind::Assign:
      return assign(statement);
    case StatementKind::Evaluate:
      return evaluate(*statement.value);
    case StatementKind::Block:
      line("{");
      return braced(statement.body);
    case StatementKind::If:
      return branch(statement);
    case StatementKind::Loop:
      return loop(statement);
    case StatementKind::DoLoop:
      return do_loop(statement);
    case StatementKind::Switch:
      return switch_(statement);
    case StatementKind::Break:
      return line("break;");
    case StatementKind::Continue:
      return line("continue;");
    case StatementKind::Return:
      return return_(statement);
  }
}

void Writer::begin(Cell& known, const Text& initial) {
  if (known.is_rooted) {
    unit_.declare(known, instance_.kernels);
    line(known.is_words
             ? memory_.store(known.type, known.storage(), {std::to_string(known.offset)}, initial, instance_.kernels)
             : base::format("{} = {};", known.name, initial.text));
    return;
  }
  known.name = unit_.names.take(known.variable->name);
  line(base::format("{} = {};", unit_.declaration(known), initial.text));
}

void Writer::declare(const ir::Statement& statement) {
  Cell& known = cell(*statement.variable);
  if (known.variable->space == Space::Threadgroup) {
    unit_.declare(known, instance_.kernels);
    return;
  }
  if (is_static_pointer(known.type)) {
    const Shape& shape = known.shapes[0];
    if (shape.ints() == 0) {
      // The variable is not written, but its value may have effects.
      if (statement.value != nullptr) pointer(*statement.value);
      return;
    }
    if (statement.value != nullptr) return begin(known, whole(fit(pointer(*statement.value), shape)));
  } else if (statement.value != nullptr) {
    return begin(known, value(*statement.value));
  }
  if (known.is_rooted) return unit_.declare(known, instance_.kernels);
  known.name = unit_.names.take(known.variable->name);
  line(unit_.declaration(known) + ";");
}

bool Writer::assign_compound(const ir::Statement& statement) {
  const ir::Expression& given = *statement.value;
  if (given.kind != ExpressionKind::Binary || given.type->scalar()->is(TypeKind::Bool) || given.type->is_pointer())
    return false;
  const bool is_known = given.op <= Operator::Divide || (given.op >= Operator::And && given.op <= Operator::Xor);
  if (!is_known || !glsl_is_same_variable(*statement.place, *given.operands[0])) return false;
  const Place at = place(*statement.place);
  std::string target_text = at.text.text;
  if (at.kind == Place::Kind::Buffer && at.picked.empty())
    target_text = memory_.direct(at.type, address_plus(at.text, at.offset));
  else if (at.kind != Place::Kind::Here || at.really != nullptr)
    return false;
  if (target_text.empty()) return false;
  const ir::Expression& right = *given.operands[1];
  const bool is_one = right.kind == ExpressionKind::Constant && right.type->is_integer() && right.bits == 1;
  if (is_one && (given.op == Operator::Add || given.op == Operator::Subtract))
    line(base::format("{}{};", given.op == Operator::Add ? "++" : "--", target_text));
  else
    line(base::format("{} {}= {};", target_text, operator_sign(given.op), value(right).text));
  return true;
}

void Writer::assign(const ir::Statement& statement) {
  if (is_static_pointer(statement.place->type)) {
    const Shape shape = unit_.resolver.shape(instance_, *statement.place);
    const std::vector<Text> ints = fit(pointer(*statement.value), shape);
    const Place at = place(*statement.place);
    if (at.kind != Place::Kind::Here || ints.empty()) return;
    if (ints.size() > 1 && statement.place->kind != ExpressionKind::Variable)
      unit_.refuse("a pointer into an array in a structure in an array cannot be kept on Vulkan");
    line(base::format("{} = {};", at.text.text, whole(ints).text));
    return;
  }
  if (assign_compound(statement)) return;
  store(place(*statement.place), *statement.value);
}

void Writer::store(const Place& to, const ir::Expression& given) {
  if (to.kind == Place::Kind::Here) {
    const Text text = to.really == nullptr ? value(given) : memory_.bitcast(to.really, to.type, value(given));
    return line(base::format("{} = {};", to.text.text, text.text));
  }
  if (to.kind == Place::Kind::Nowhere) return evaluate(given);
  if (to.picked.empty()) return line(write_memory(to.type, to, 0, value(given)));
  // Part by part.
  const Text named{temporary(unit_.types.name(given.type), value(given))};
  const uint64_t size = to.type->inner->size;
  for (size_t i = 0; i < to.picked.size(); ++i) {
    const uint64_t more = std::string_view("xyzw").find(to.picked[i]) * size;
    const Text part = to.picked.size() == 1 ? named : Text{base::format("{}.{}", named.text, kComponents[i])};
    line(write_memory(to.type->inner, to, more, part));
  }
}

void Writer::evaluate(const ir::Expression& expression) {
  if (ir::has_call(expression)) line(value(expression).text + ";");
}

void Writer::branch(const ir::Statement& statement) {
  line(base::format("if ({}) {{", value(*statement.value).text));
  const ir::Statement* at = &statement;
  for (;;) {
    {
      const Inside inside(*this);
      block(at->body);
    }
    if (at->otherwise.empty()) break;
    // A chain of them stays one, where the next condition takes no line of its own.
    const ir::Statement* next = at->otherwise.size() == 1 ? at->otherwise[0] : nullptr;
    const std::optional<std::string> further =
        next != nullptr && next->kind == StatementKind::If ? inline_condition(next->value) : std::nullopt;
    if (!further) {
      line("} else {");
      return braced(at->otherwise);
    }
    line(base::format("}} else if ({}) {{", *further));
    at = next;
  }
  line("}");
}

void Writer::return_(const ir::Statement& statement) {
  if (statement.value == nullptr) return line("return;");
  const ir::Expression& given = *statement.value;
  if (is_static_pointer(given.type))
    return line(base::format("return {};", whole(fit(pointer(given), instance_.result[0])).text));
  line(base::format("return {};", value(given).text));
}

void Writer::switch_(const ir::Statement& statement) {
  const TypeKind kind = statement.value->type->kind;
  const bool is_wide = kind == TypeKind::Long || kind == TypeKind::ULong;
  Text chosen = value(*statement.value);
  if (is_wide) {
    // GLSL switches on 32 bits: the number of the case instead.
    const std::string name = temporary(unit_.types.name(statement.value->type), chosen, "chosen");
    std::string number_of;
    for (size_t i = 0; i < statement.cases.size(); ++i)
      for (const int64_t label : statement.cases[i].values)
        number_of += base::format("{} == {} ? {} : ", name, literal(kind, static_cast<uint64_t>(label)).text, i);
    chosen = {base::format("{}-1", number_of)};
  }
  line(base::format("switch ({}) {{", chosen.text));
  ++indent_;
  for (size_t i = 0; i < statement.cases.size(); ++i) {
    const ir::Case& one = statement.cases[i];
    std::vector<std::string> labels;
    if (is_wide && !one.values.empty()) labels.push_back(base::format("case {}:", i));
    for (const int64_t label : one.values)
      if (!is_wide) labels.push_back(base::format("case {}:", literal(kind, static_cast<uint64_t>(label)).text));
    if (one.is_default || one.values.empty()) labels.emplace_back("default:");
    labels.back() += " {";
    for (const std::string& label : labels) line(label);
    {
      const Inside inside(*this);
      block(one.body);
      // A label at the end of a switch must have a statement.
      if (one.body.empty() && i + 1 == statement.cases.size()) line("break;");
    }
    line("}");
  }
  --indent_;
  line("}");
}

// ---- Loops ----------------------------------------------------------------------------------------------------------

// GLSL's own where they can be, else endless ones that are left by a break. All have a way out at their heads, if only
// for the sake of form: see kymo_goes_on().

std::optional<std::string> Writer::inline_condition(const ir::Expression* wanted) {
  if (wanted == nullptr) return std::string();
  const size_t before = out_.size();
  const Text text = value(*wanted);
  if (out_.size() == before) return text.text;
  out_.resize(before);
  return std::nullopt;
}

std::optional<std::string> Writer::inline_step(const ir::Block& step) {
  std::string all;
  const size_t before = out_.size();
  const uint32_t indent = std::exchange(indent_, 0);
  bool is_inline = true;
  for (const ir::Statement* each : step) {
    out_.resize(before);
    is_inline &= each->kind == StatementKind::Assign || each->kind == StatementKind::Evaluate;
    if (!is_inline) break;
    statement(*each);
    // One line: "x;\n".
    const std::string_view written = std::string_view(out_).substr(before);
    is_inline = written.ends_with(";\n") && written.find(';') == written.size() - 2;
    if (!is_inline) break;
    (all += all.empty() ? "" : ", ") += written.substr(0, written.size() - 2);
  }
  indent_ = indent;
  out_.resize(before);
  return is_inline ? std::optional(all) : std::nullopt;
}

void Writer::leave_unless(const ir::Expression& wanted) {
  line(base::format("if (!{}) break;", operand(value(wanted), Level::Prefix)));
}

void Writer::open_loop(std::string_view head, std::string_view step, uint16_t wish) {
  const std::string endless = head.empty() || head == "true" ? unit_.goes_on() : "";
  if (!endless.empty()) head = endless;
  // GLSL cannot say how often: it is all or none.
  const std::string_view how = wish == kUnrollAll ? "[[unroll]] " : wish == kNeverUnroll ? "[[dont_unroll]] " : "";
  if (!how.empty()) unit_.need(Extension::LoopWishes);
  line(std::string(how) +
       (step.empty() ? base::format("while ({}) {{", head) : base::format("for (; {}; {}) {{", head, step)));
}

void Writer::loop(const ir::Statement& statement) {
  const std::optional<std::string> head = inline_condition(statement.value);
  const std::optional<std::string> step = inline_step(statement.step);
  if (statement.before.empty() && head && step) {
    open_loop(*head, *step, statement.unroll);
    return braced(statement.body);
  }
  general_loop(statement, step);
}

// The statement's own order: the head, the body, the step. Of a do-loop: the body, the head.
void Writer::general_loop(const ir::Statement& statement, const std::optional<std::string>& step) {
  const bool is_do = statement.kind == StatementKind::DoLoop;
  const auto head = [&] {
    block(statement.before);
    if (statement.value != nullptr) leave_unless(*statement.value);
  };
  const auto finish = [&] { is_do ? head() : block(statement.step); };
  // If an iteration may end early, what comes after the body is executed at the start of the next iteration.
  const bool is_late = !step && ir::has_continue(statement.body);
  std::string is_first;
  if (is_late) {
    is_first = unit_.names.take("is_first");
    line(base::format("bool {} = true;", is_first));
  }
  open_loop("", step.value_or(""));
  {
    const Inside inside(*this);
    if (is_late) {
      line(base::format("if (!{}) {{", is_first));
      {
        const Inside later(*this);
        finish();
      }
      line("}");
      line(base::format("{} = false;", is_first));
    }
    if (!is_do) head();
    block(statement.body);
    if (!step && !is_late) finish();
  }
  line("}");
}

void Writer::do_loop(const ir::Statement& statement) {
  const std::optional<std::string> end = inline_condition(statement.value);
  if (statement.before.empty() && end) {
    if (end->empty() || *end == "true") {
      open_loop("", "");
    } else {
      const std::string again = unit_.names.take("again");
      line(base::format("bool {} = true;", again));
      open_loop(again, base::format("{} = {}", again, *end));
    }
    return braced(statement.body);
  }
  general_loop(statement, std::nullopt);
}

}  // namespace kymo::shader::glsl
