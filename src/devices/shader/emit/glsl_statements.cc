// Statements.

#include "base/text.h"
#include "shader/emit/glsl_writer.h"
#include "shader/emit/walk.h"

namespace kymo::shader::glsl {
namespace {

using ir::ExpressionKind;
using ir::Operator;
using ir::StatementKind;

std::string_view glsl_compound_sign(Operator op) {
  switch (op) {
    case Operator::Add:
      return "+=";
    case Operator::Subtract:
      return "-=";
    case Operator::Multiply:
      return "*=";
    case Operator::Divide:
      return "/=";
    case Operator::And:
      return "&=";
    case Operator::Or:
      return "|=";
    case Operator::Xor:
      return "^=";
    default:
      return {};
  }
}

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
  ++indent_;
  unit_.names.enter();
  block(inner);
  unit_.names.leave();
  --indent_;
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
  const std::string_view sign = glsl_compound_sign(given.op);
  if (sign.empty() || !glsl_is_same_variable(*statement.place, *given.operands[0])) return false;
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
    line(base::format("{} {} {};", target_text, sign, value(right).text));
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
  const bool is_memory = to.kind == Place::Kind::Buffer || to.kind == Place::Kind::Bytes;
  if (to.picked.empty() && is_memory) return line(write_memory(to.type, to, 0, value(given)));
  // Part by part.
  const Text named{temporary(unit_.types.name(given.type), value(given))};
  const std::string indentation(size_t{2} * indent_, ' ');
  if (to.picked.empty()) {
    out_ += memory_.put(to.type, to.words, named, indentation);
    return;
  }
  const uint64_t size = to.type->inner->size;
  for (size_t i = 0; i < to.picked.size(); ++i) {
    const uint64_t more = std::string_view("xyzw").find(to.picked[i]) * size;
    const Text part = to.picked.size() == 1 ? named : Text{base::format("{}.{}", named.text, kComponents[i])};
    if (is_memory) {
      line(write_memory(to.type->inner, to, more, part));
    } else {
      WordPlace word = to.words;
      word.offset += more;
      out_ += memory_.put(to.type->inner, word, part, indentation);
    }
  }
}

void Writer::evaluate(const ir::Expression& expression) {
  // Only its calls have effects.
  bool does_something = false;
  walk_expression(&expression, [&](const ir::Expression& part) {
    does_something |= part.kind == ExpressionKind::Call || part.kind == ExpressionKind::Intrinsic;
  });
  if (does_something) line(value(expression).text + ";");
}

void Writer::branch(const ir::Statement& statement) {
  line(base::format("if ({}) {{", value(*statement.value).text));
  const ir::Statement* at = &statement;
  for (;;) {
    ++indent_;
    unit_.names.enter();
    block(at->body);
    unit_.names.leave();
    --indent_;
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
    ++indent_;
    unit_.names.enter();
    block(one.body);
    // A label at the end of a switch must have a statement.
    if (one.body.empty() && i + 1 == statement.cases.size()) line("break;");
    unit_.names.leave();
    --indent_;
    line("}");
  }
  --indent_;
  line("}");
}

}  // namespace kymo::shader::glsl
