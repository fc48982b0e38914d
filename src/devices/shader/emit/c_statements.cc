
#include "base/text.h"
#include "shader/emit/c_function.h"
#include "shader/emit/c_literals.h"
#include "shader/emit/unroll.h"
#include "shader/emit/walk.h"
#include "shader/preprocess/unroll_wish.h"

namespace kymo::shader {
namespace {

using ir::StatementKind;

constexpr size_t kMaxBlocks = 200;  // compilers stop at about this many braces

// Whether a Continue in here is the loop's around it.
bool c_continues(const ir::Block& block) {
  for (const ir::Statement* statement : block) {
    if (statement->kind == StatementKind::Continue) return true;
    if (statement->kind == StatementKind::Loop || statement->kind == StatementKind::DoLoop) continue;
    if (c_continues(statement->body) || c_continues(statement->otherwise)) return true;
    for (const ir::Case& one : statement->cases)
      if (c_continues(one.body)) return true;
  }
  return false;
}

bool c_is_plain_aggregate(const ir::Expression& value) {
  if (!value.type->is_array() || value.kind == ir::ExpressionKind::Zero) return true;
  if (value.kind != ir::ExpressionKind::Construct || value.operands.empty()) return false;
  for (const ir::Expression* part : value.operands)
    if (!c_is_plain_aggregate(*part)) return false;
  return true;
}

bool c_does_something(const ir::Expression& value) {
  bool does = false;
  walk_expression(&value, [&](const ir::Expression& one) {
    does |= one.kind == ir::ExpressionKind::Call || one.kind == ir::ExpressionKind::Intrinsic;
  });
  return does;
}

}  // namespace

void CFunction::line(std::string_view text) { ((out_ += indent_) += text) += '\n'; }

void CFunction::block(const ir::Block& statements) {
  if (indent_.size() / 2 > kMaxBlocks)
    throw Rejected{statements.empty() ? function_.at : statements.front()->at,
                   base::format("blocks are nested more than {} deep; move parts of them into functions", kMaxBlocks)};
  const Inside inside(*this);
  this->statements(statements);
}

void CFunction::statements(const ir::Block& block) {
  for (const ir::Statement* one : block) statement(*one);
}

void CFunction::statement(const ir::Statement& statement) {
  switch (statement.kind) {
    case StatementKind::Declare:
      return declare(statement);
    case StatementKind::Assign:
      if (const auto text = assignment(statement)) return line(*text + ";");
      return swizzle_assignment(statement);
    case StatementKind::Evaluate:
      if (c_does_something(*statement.value)) line(value(*statement.value).text + ";");
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

// ---- Declarations --------------------------------------------------------------------------------------------------

void CFunction::declare(const ir::Statement& statement) {
  if (statement.variable->space == Space::Threadgroup) return;  // at the top of its kernel
  const std::string text = declaration(statement);
  if (!text.empty()) line(text + ";");
}

std::string CFunction::declaration(const ir::Statement& statement) {
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

std::string CFunction::plain_parts(Form form, const ir::Expression& array) {
  if (array.kind == ir::ExpressionKind::Zero) return base::format("{{{}}}", dialect_.zeros());
  std::string text;
  for (const ir::Expression* part : array.operands)
    (text += text.empty() ? "{" : ", ") +=
        part->type->is_array() ? plain_parts(form, *part) : value_for(form, *part).text;
  return text + "}";
}

// ---- Branches ------------------------------------------------------------------------------------------------------

void CFunction::if_statement(const ir::Statement& statement) {
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

void CFunction::switch_statement(const ir::Statement& statement) {
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

// ---- Loops ---------------------------------------------------------------------------------------------------------

void CFunction::leave_unless(const ir::Expression* condition) {
  if (condition != nullptr) line("if (" + c_prefix("!", value(*condition)).text + ") break;");
}

// The step as an expression for the head of a `for`; empty if it needs several statements.
std::optional<std::string> CFunction::header_step(const ir::Block& step) {
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
void CFunction::hoist_shared(const ir::Statement& loop) {
  if (loop.step.empty()) return;
  std::unordered_set<const ir::Variable*> used;
  walk_block(loop.step,
             Overloaded{[](const ir::Statement&) {}, [&](const ir::Expression& one) { used.insert(one.variable); }});
  for (const ir::Statement* one : loop.before) {
    if (one->kind != StatementKind::Declare || !used.contains(one->variable)) continue;
    if (one->variable->type->is_array()) plain_arrays_.insert(one->variable);
    const Form form = types_.form_of(*one->variable);
    line(aligned(form) + types_.declaration(form, one->variable->type, name(*one->variable)) + ";");
    hoisted_.insert(one->variable);
  }
}

void CFunction::unroll(const ir::Statement& loop, const ir::Statement* first) {
  uint16_t wish = loop.unroll;
  if (wish == kNoUnrollWish && dialect_.unrolls_without_wish() && first != nullptr && should_unroll(*first, loop))
    wish = kUnrollAll;
  if (wish != kNoUnrollWish) out_ += dialect_.unrolling(wish);
}

void CFunction::loop(const ir::Statement& statement, const ir::Statement* first) {
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

void CFunction::general_loop(const ir::Statement& statement) {
  const bool continues = c_continues(statement.body) && !statement.step.empty();
  if (continues) hoist_shared(statement);
  names_.enter();
  // Continue goes to the step: it is executed at the start of every iteration but the first.
  const std::string again = continues ? names_.take("again") : std::string();
  line(continues ? base::format("for (bool {0} = false;; {0} = true) {{", again) : "while (true) {");
  {
    const Inside inside(*this);
    if (continues) {
      line("if (" + again + ") {");
      block(statement.step);
      line("}");
    }
    statements(statement.before);
    leave_unless(statement.value);
    statements(statement.body);
    if (!continues) statements(statement.step);
  }
  line("}");
  names_.leave();
}

void CFunction::do_loop(const ir::Statement& statement) {
  if (statement.before.empty()) {
    line("do {");
    block(statement.body);
    return line("} while (" + value(*statement.value).text + ");");
  }
  const bool continues = c_continues(statement.body);
  names_.enter();
  const std::string again = continues ? names_.take("again") : std::string();
  line(continues ? base::format("for (bool {0} = false;; {0} = true) {{", again) : "while (true) {");
  {
    const Inside inside(*this);
    if (continues) line("if (" + again + ") {");
    if (continues) {
      const Inside before(*this);
      statements(statement.before);
      leave_unless(statement.value);
    }
    if (continues) line("}");
    statements(statement.body);
    if (!continues) statements(statement.before);
    if (!continues) leave_unless(statement.value);
  }
  line("}");
  names_.leave();
}

}  // namespace kymo::shader
