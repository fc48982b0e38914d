// Decides which expressions are stored in a temporary, and where.

#include "shader/sema/lowering/changes.h"
#include "shader/sema/lowering/code_writer.h"

namespace kymo::shader {

size_t CodeWriter::mark() const { return body_.block->size(); }

bool CodeWriter::is_settled(const ir::Expression& expression) const { return is_stable(expression, nullptr); }

// Whether its value is the same after the changes; null: after any statement.
bool CodeWriter::is_stable(const ir::Expression& expression, const Changes* changes) const {
  const auto all_stable = [&] {
    for (const ir::Expression* operand : expression.operands) {
      if (!is_stable(*operand, changes)) return false;
    }
    return true;
  };
  const bool memory_changes = changes == nullptr || changes->writes_memory;
  using Kind = ir::ExpressionKind;
  switch (expression.kind) {
    case Kind::Variable: {
      const ir::Variable* variable = expression.variable;
      if (variable->space == Space::Program || settled_.contains(variable)) return true;
      if (changes == nullptr || changes->assigned.contains(variable)) return false;
      return !memory_changes || (variable->space == Space::Thread && !variable->address_taken);
    }
    case Kind::AddressOf:
    case Kind::Decay: {
      // The address does not depend on the contents.
      const ir::Expression* place = expression.operands[0];
      while (place->kind == Kind::Member || place->kind == Kind::Index) {
        if (place->kind == Kind::Index && !is_stable(*place->operands[1], changes)) return false;
        place = place->operands[0];
      }
      if (place->kind == Kind::Variable) return true;
      return place->kind == Kind::Dereference && is_stable(*place->operands[0], changes);
    }
    case Kind::Dereference:
    case Kind::Call:
      return !memory_changes && all_stable();
    case Kind::Conditional:
    case Kind::LogicalAnd:
    case Kind::LogicalOr:
    case Kind::Intrinsic:
    case Kind::PointerDifference:
      return changes != nullptr && all_stable();
    default:
      return all_stable();
  }
}

// Calls `making`, which writes statements before those since then.
template <typename Making>
void CodeWriter::before(size_t since, Making making) {
  ir::Block later(body_.block->begin() + static_cast<ptrdiff_t>(since), body_.block->end());
  body_.block->resize(since);
  making();
  body_.block->insert(body_.block->end(), later.begin(), later.end());
}

const ir::Expression* CodeWriter::settle(const ir::Expression* value, const Changes* changes) {
  if (is_stable(*value, changes)) return value;
  ir::Variable& kept = local("t", value->type, value, value->at);
  settled_.insert(&kept);
  return build(value->at).variable(kept);
}

void CodeWriter::settle_all(std::vector<const ir::Expression*>& earlier, size_t since) {
  if (mark() == since) return;
  const Changes changes(*this, since);
  before(since, [&] {
    for (const ir::Expression*& value : earlier) value = settle(value, &changes);
  });
}

void CodeWriter::protect(Value& earlier, size_t since) {
  if (mark() == since || earlier.braces != nullptr || earlier.ir == nullptr || is_void(earlier)) return;
  if (earlier.type->is_array()) return protect_place(earlier, since);
  const Changes changes(*this, since);
  const ir::Expression* value = read(earlier);
  if (is_stable(*value, &changes)) return;
  before(since, [&] {
    Value kept = load(earlier);
    kept.ir = settle(value, &changes);
    earlier = kept;
  });
}

void CodeWriter::protect_place(Value& earlier, size_t since) { protect_places(std::span(&earlier, 1), since); }

void CodeWriter::protect_places(std::span<Value> earlier, size_t since) {
  if (mark() == since || earlier.empty()) return;
  const Changes changes(*this, since);
  before(since, [&] {
    for (Value& each : earlier) {
      if (each.braces != nullptr || each.ir == nullptr || is_void(each)) continue;
      if (!each.is_place && !each.type->is_array()) {
        each.ir = settle(each.ir, &changes);
        continue;
      }
      each = freeze(each, &changes);
      // It is not known yet whether its value or its address is needed.
      const bool is_simple = each.type->is_number() || each.type->is_pointer();
      if (!is_simple || each.kept != nullptr) continue;
      const ir::Expression* value = read(each);
      if (!is_stable(*value, &changes)) each.kept = settle(value, &changes);
    }
  });
}

// Whether it may be computed twice: a few nodes without calls and choices.
bool CodeWriter::is_cheap(const ir::Expression& expression, int& budget) {
  if (--budget < 0) return false;
  using Kind = ir::ExpressionKind;
  if (expression.kind == Kind::Call || expression.kind == Kind::Intrinsic || expression.kind == Kind::Conditional ||
      expression.kind == Kind::LogicalAnd || expression.kind == Kind::LogicalOr) {
    return false;
  }
  for (const ir::Expression* operand : expression.operands) {
    if (!is_cheap(*operand, budget)) return false;
  }
  return true;
}

Value CodeWriter::reusable(const Value& place) {
  int budget = 16;
  return place.ir == nullptr || is_cheap(*place.ir, budget) ? place : freeze(place);
}

Value CodeWriter::freeze(const Value& place, const Changes* changes) {
  if (!place.is_place) return place;
  Value frozen = place;
  std::vector<const ir::Expression*> path;
  const ir::Expression* at = place.ir;
  while (at->kind == ir::ExpressionKind::Member || at->kind == ir::ExpressionKind::Index ||
         at->kind == ir::ExpressionKind::Swizzle) {
    path.push_back(at);
    at = at->operands[0];
  }
  const ir::Expression* made = at;
  if (at->kind == ir::ExpressionKind::Dereference) {
    const ir::Expression* pointer = settle(at->operands[0], changes);
    if (pointer != at->operands[0]) made = build(at->at).deref(pointer);
  }
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    const ir::Expression& old = **step;
    const ir::Expression* index = old.kind == ir::ExpressionKind::Index ? settle(old.operands[1], changes) : nullptr;
    if (made == old.operands[0] && (index == nullptr || index == old.operands[1])) {
      made = &old;
      continue;
    }
    ir::Expression& again = module_.make_expression(old.kind, old.type, old.at);
    again.operands = {made};
    if (index != nullptr) again.operands.push_back(index);
    again.index = old.index;
    for (int i = 0; i < 4; ++i) again.swizzle[i] = old.swizzle[i];
    made = &again;
  }
  frozen.ir = made;
  if (frozen.view_index != nullptr) frozen.view_index = settle(frozen.view_index, changes);
  return frozen;
}

// ---- Changes -------------------------------------------------------------------------------------------------------

CodeWriter::Changes::Changes(const CodeWriter& writer, size_t since) : writer_(writer) {
  const ir::Block& block = *writer.body_.block;
  for (size_t i = since; i < block.size(); ++i) add(*block[i]);
}

void CodeWriter::Changes::add(const ir::Block& block) {
  for (const ir::Statement* statement : block) add(*statement);
}

void CodeWriter::Changes::add(const ir::Statement& statement) {
  if (statement.kind == ir::StatementKind::Assign) {
    const ir::Expression& root = ir::place_root(*statement.place);
    if (root.kind == ir::ExpressionKind::Variable && root.variable->space == Space::Thread) {
      assigned.insert(root.variable);
    } else {
      writes_memory = true;
    }
    add(*statement.place);
  }
  if (statement.kind == ir::StatementKind::Declare) assigned.insert(statement.variable);
  if (statement.value != nullptr) add(*statement.value);
  add(statement.body);
  add(statement.otherwise);
  add(statement.before);
  add(statement.step);
  for (const ir::Case& each : statement.cases) add(each.body);
}

void CodeWriter::Changes::add(const ir::Expression& expression) {
  if (expression.kind == ir::ExpressionKind::Call && writer_.with_effects_.contains(expression.function)) {
    writes_memory = true;
  }
  if (expression.kind == ir::ExpressionKind::Intrinsic && expression.intrinsic >= ir::Intrinsic::AtomicLoad &&
      expression.intrinsic <= ir::Intrinsic::GroupAny) {
    writes_memory = true;
  }
  if (writes_memory) return;
  for (const ir::Expression* operand : expression.operands) add(*operand);
}

}  // namespace kymo::shader
