// Loops: GLSL's own where they can be, else endless ones that are left by a break. All have a way out at their heads,
// if only for the sake of form: see kymo_goes_on().

#include <utility>

#include "base/text.h"
#include "shader/emit/glsl_writer.h"
#include "shader/preprocess/unroll_wish.h"

namespace kymo::shader::glsl {
namespace {

using ir::StatementKind;

// Whether there is a Continue of the loop that this is the body of.
bool glsl_continues(const ir::Block& block) {
  for (const ir::Statement* statement : block) {
    if (statement->kind == StatementKind::Continue) return true;
    if (statement->kind == StatementKind::Loop || statement->kind == StatementKind::DoLoop) continue;
    if (glsl_continues(statement->body) || glsl_continues(statement->otherwise)) return true;
    for (const ir::Case& one : statement->cases)
      if (glsl_continues(one.body)) return true;
  }
  return false;
}

}  // namespace

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
  // The step of a turn that another follows may have to run before that one.
  const bool is_late = !step && glsl_continues(statement.body);
  std::string is_first;
  if (is_late) {
    is_first = unit_.names.take("is_first");
    line(base::format("bool {} = true;", is_first));
  }
  open_loop("", step.value_or(""));
  ++indent_;
  unit_.names.enter();
  if (is_late) {
    line(base::format("if (!{}) {{", is_first));
    braced(statement.step);
    line(base::format("{} = false;", is_first));
  }
  block(statement.before);
  if (statement.value != nullptr) leave_unless(*statement.value);
  block(statement.body);
  if (!step && !is_late) block(statement.step);
  unit_.names.leave();
  --indent_;
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
  // If an iteration may end early, the step is executed at the start of the next iteration.
  const bool is_late = glsl_continues(statement.body);
  std::string is_first;
  if (is_late) {
    is_first = unit_.names.take("is_first");
    line(base::format("bool {} = true;", is_first));
  }
  open_loop("", "");
  ++indent_;
  unit_.names.enter();
  const auto finish = [&] {
    block(statement.before);
    if (statement.value != nullptr) leave_unless(*statement.value);
  };
  if (is_late) {
    line(base::format("if (!{}) {{", is_first));
    ++indent_;
    unit_.names.enter();
    finish();
    unit_.names.leave();
    --indent_;
    line("}");
    line(base::format("{} = false;", is_first));
  }
  block(statement.body);
  if (!is_late) finish();
  unit_.names.leave();
  --indent_;
  line("}");
}

}  // namespace kymo::shader::glsl
