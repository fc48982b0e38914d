#include <algorithm>
#include <utility>

#include "shader/ir/evaluator.h"

namespace kymo::shader::ir {

Evaluated Evaluator::run(const Block& statements, const Expression& result) {
  if (block(statements) != Flow::Next) throw NotConstant{};
  return value(result);
}

Evaluator::Flow Evaluator::block(const Block& statements) {
  if (++depth_ > kDeepest) throw NotConstant{};
  Flow flow = Flow::Next;
  for (size_t i = 0; i < statements.size() && flow == Flow::Next; ++i) flow = statement(*statements[i]);
  --depth_;
  return flow;
}

Evaluator::Flow Evaluator::statement(const Statement& s) {
  step();
  switch (s.kind) {
    case StatementKind::Declare: {
      if (s.variable->space != Space::Thread) throw NotConstant{};
      auto made = s.value != nullptr ? value(*s.value) : make_evaluated(s.variable->type, false, steps_);
      if (!made) throw NotConstant{};
      // One object for each iteration: pointers to an older one keep its value.
      frame_[s.variable] = &objects_.emplace_back(std::move(*made));
      return Flow::Next;
    }
    case StatementKind::Assign:
      store(*s.place, value(*s.value));
      return Flow::Next;
    case StatementKind::Evaluate:
      value(*s.value);
      return Flow::Next;
    case StatementKind::Block:
      return block(s.body);
    case StatementKind::If:
      return block(truth(*s.value) ? s.body : s.otherwise);
    case StatementKind::Loop:
      return loop(s);
    case StatementKind::DoLoop:
      return do_loop(s);
    case StatementKind::Switch:
      return switch_(s);
    case StatementKind::Break:
      return Flow::Break;
    case StatementKind::Continue:
      return Flow::Continue;
    case StatementKind::Return:
      returned_ = s.value == nullptr ? Evaluated{} : value(*s.value);
      return Flow::Return;
  }
  throw NotConstant{};
}

Evaluator::Flow Evaluator::loop(const Statement& s) {
  while (true) {
    step();
    if (block(s.before) == Flow::Return) return Flow::Return;
    if (s.value != nullptr && !truth(*s.value)) return Flow::Next;
    const Flow flow = block(s.body);
    if (flow == Flow::Return) return flow;
    if (flow == Flow::Break) return Flow::Next;
    if (block(s.step) == Flow::Return) return Flow::Return;
  }
}

Evaluator::Flow Evaluator::do_loop(const Statement& s) {
  do {
    step();
    const Flow flow = block(s.body);
    if (flow == Flow::Return) return flow;
    if (flow == Flow::Break) return Flow::Next;
    if (block(s.before) == Flow::Return) return Flow::Return;
  } while (truth(*s.value));
  return Flow::Next;
}

Evaluator::Flow Evaluator::switch_(const Statement& s) {
  const auto chosen = static_cast<int64_t>(integer(*s.value));
  const auto has_value = [&](const Case& one) { return std::ranges::find(one.values, chosen) != one.values.end(); };
  const auto is_default = [](const Case& one) { return one.is_default || one.values.empty(); };
  auto at = std::ranges::find_if(s.cases, has_value);
  if (at == s.cases.end()) at = std::ranges::find_if(s.cases, is_default);
  for (; at != s.cases.end(); ++at) {
    const Flow flow = block(at->body);
    if (flow == Flow::Break) return Flow::Next;
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

}  // namespace kymo::shader::ir
