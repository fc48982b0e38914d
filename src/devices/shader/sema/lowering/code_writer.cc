// Reads and writes values and places, and decides which expressions are stored in a temporary before the next
// statement.

#include "shader/sema/lowering/code_writer.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace kymo::shader {

Value CodeWriter::rvalue(const ir::Expression* ir, const Type* type) {
  Value value;
  value.ir = ir;
  value.type = type != nullptr ? type : ir->type;
  return value;
}

// ---- Reading and writing places ------------------------------------------------------------------------------------

namespace {

bool effects_is_packed(const Type* type) { return type->is_vector() && type->packed; }

}  // namespace

const Type* CodeWriter::plain(const Type* type) {
  return effects_is_packed(type) ? table_.vector(type->inner, type->count) : type;
}

const ir::Expression* CodeWriter::read(const Value& value) {
  if (value.braces != nullptr) throw Rejected{value.braces->at, "{...} has no type here: write the type before it"};
  if (value.ir == nullptr) throw Rejected{build_.at, "there is no value here: the expression is void"};
  if (value.kept != nullptr) return value.kept;
  ir::Builder& make = build(value.ir->at);
  const ir::Expression* read = value.ir;
  if (is_absent(value)) return make.zero(plain(value.type));
  if (value.in_words) return read_view(value);
  if (read->kind == ir::ExpressionKind::Swizzle && effects_is_packed(read->operands[0]->type)) {
    // Of a packed vector in memory: reads the vector, then takes the components.
    const ir::Expression* whole =
        make.convert(table_.with_scalar(read->operands[0]->type, read->type->inner), read->operands[0]);
    ir::Expression& taken = module_.make_expression(ir::ExpressionKind::Swizzle, read->type, read->at);
    taken.operands = {whole};
    taken.index = read->index;
    for (int i = 0; i < 4; ++i) taken.swizzle[i] = read->swizzle[i];
    return &taken;
  }
  if (effects_is_packed(read->type)) return make.convert(plain(read->type), read);
  return read;
}

bool CodeWriter::is_absent(const Value& place) const {
  if (absent_.empty() || !place.is_place) return false;
  const ir::Expression* at = &ir::place_root(*place.ir);
  if (at->kind != ir::ExpressionKind::Dereference) return false;
  at = at->operands[0];
  while (at->kind == ir::ExpressionKind::PointerAdd || at->kind == ir::ExpressionKind::PointerCast)
    at = at->operands[0];
  return at->kind == ir::ExpressionKind::Variable && absent_.contains(at->variable);
}

Value CodeWriter::load(const Value& value) {
  if (is_void(value)) return value;
  const ir::Expression* ir = read(value);
  Value loaded = rvalue(ir, effects_is_packed(value.type) ? ir->type : value.type);
  loaded.is_literal_zero = value.is_literal_zero;
  loaded.is_null = value.is_null;
  return loaded;
}

Value CodeWriter::decayed(const Value& value) {
  if (value.braces != nullptr || value.type == nullptr || !value.type->is_array()) return value;
  if (!value.is_place) {
    Value kept = keep(value, "array");
    return decayed(kept);
  }
  const Type* pointer = table_.pointer(value.type->inner, value.space, value.is_const || is_read_only(value.space));
  if (value.in_words) return rvalue(build(value.ir->at).pointer_cast(pointer, view_address(value)), pointer);
  const ir::Expression* made = build(value.ir->at).decay(value.ir);
  return rvalue(build_.pointer_cast(pointer, made), pointer);
}

void CodeWriter::assign(const Value& place, const ir::Expression* value, Location at) {
  if (place.is_const || (place.is_place && is_read_only(place.space))) {
    throw Rejected{at, "cannot write to a const or constant object"};
  }
  if (!place.is_place) throw Rejected{at, "cannot assign to a value: it is not a variable, element or member"};
  ir::Builder& make = build(at);
  const ir::Expression& root = ir::place_root(*place.ir);
  if (root.kind == ir::ExpressionKind::Dereference || root.variable->space == Space::Threadgroup)
    body_.has_effects = true;
  if (place.in_words) return write_view(place, value, at);
  if (place.ir->kind == ir::ExpressionKind::Swizzle) {
    const ir::Expression& swizzle = *place.ir;
    for (uint32_t i = 0; i < swizzle.index; ++i) {
      for (uint32_t k = 0; k < i; ++k) {
        if (swizzle.swizzle[i] == swizzle.swizzle[k])
          throw Rejected{at, "cannot assign to a component twice: name each component once"};
      }
    }
    if (effects_is_packed(swizzle.operands[0]->type)) {
      const ir::Expression* kept = settle(value);
      for (uint32_t i = 0; i < swizzle.index; ++i) {
        const ir::Expression* component =
            build(at).index(swizzle.operands[0], static_cast<int32_t>(swizzle.swizzle[i]));
        emit(make.assign(component, make.index(kept, static_cast<int32_t>(i))));
      }
      return;
    }
  }
  emit(make.assign(place.ir, make.convert(place.ir->type, value)));
}

const ir::Expression* CodeWriter::address(const Value& place, Location at) {
  if (!place.is_place) throw Rejected{at, "a value has no address: only variables, elements and members have"};
  const Type* pointer = table_.pointer(place.type, place.space, place.is_const || is_read_only(place.space));
  if (place.in_words) return build(at).pointer_cast(pointer, view_address(place));
  const ir::Expression& ir = *place.ir;
  if (ir.kind == ir::ExpressionKind::Swizzle ||
      (ir.kind == ir::ExpressionKind::Index && ir.operands[0]->type->is_vector())) {
    throw Rejected{at, "a component of a vector has no address: copy it to a variable"};
  }
  return build(at).pointer_cast(pointer, build_.address_of(place.ir));
}

Value CodeWriter::place_at(const ir::Expression* pointer, bool is_const) {
  Value place = rvalue(build(pointer->at).deref(pointer), pointer->type->inner);
  place.is_place = true;
  place.space = pointer->type->space;
  place.is_const = is_const || pointer->type->is_const || is_read_only(place.space);
  return place;
}

Value CodeWriter::variable_place(const ir::Variable& variable, Location at) {
  Value place = rvalue(build(at).variable(variable), variable.type);
  place.is_place = true;
  place.space = variable.space;
  return place;
}

// ---- Temporaries ---------------------------------------------------------------------------------------------------

ir::Variable& CodeWriter::local(std::string_view name, const Type* type, const ir::Expression* value, Location at) {
  constexpr uint64_t kMostOfAThread = uint64_t{512} << 10;  // that CUDA has; other drivers end the process
  if (type->size > kMostOfAThread)
    throw Rejected{at,
                   base::format("{} takes {} bytes, and the variables of a thread have at most {}: use device memory",
                                in_quotes(name), type->size, kMostOfAThread)};
  ir::Variable& made = module_.make_variable(std::string(name), type);
  emit(build(at).declare(made, value));
  return made;
}

Value CodeWriter::keep(const Value& value, std::string_view name) {
  const Value loaded = load(value);
  ir::Variable& kept = local(name, loaded.type, loaded.ir, loaded.ir->at);
  settled_.insert(&kept);
  return variable_place(kept, loaded.ir->at);
}

// ---- Order: which expressions are stored in a temporary, and where --------------------------------------------------

// The effects of statements: which variables they assign, and whether they write other memory or wait for other
// threads.
class CodeWriter::Changes {
 public:
  Changes(const CodeWriter& writer, size_t since);  // of the block being written

  std::unordered_set<const ir::Variable*> assigned;
  bool writes_memory = false;

 private:
  void add(const ir::Block& block);
  void add(const ir::Statement& statement);
  void add(const ir::Expression& expression);

  const CodeWriter& writer_;
};

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

// ---- Members of unions ----------------------------------------------------------------------------------------------

// Places that are only a part of what is stored: members of unions that are stored in words.
//
// A union whose members differ in shape (a vector and an array, a struct and a number) is stored as an array of words:
// uint, or ushort or uchar if its alignment is smaller. A member is a *view*: a Value whose `ir` is this array, whose
// `type` is the type of the member, and whose first byte is `view_at` plus `view_index`. Its numbers are read and
// written word by word, so that no target needs pointers to other types. A number that is aligned to its size is never
// larger than a word, or it is two words.

namespace {

constexpr uint32_t kMaxViewParts = 256;  // of an array that is read or written as a whole

uint64_t view_part_size(const Type* whole) { return whole->inner->size; }  // of an array or a vector

const Type* view_word_type(const Value& view) { return view.ir->type->inner; }

void view_check_count(const Type* type, Location at) {
  if (type->is_array() && type->count > kMaxViewParts)
    throw Rejected{
        at, base::format("{} in a union is too large to be copied: copy its elements in a loop", in_quotes(type))};
}

}  // namespace

Value CodeWriter::view_part(const Value& view, const Type* type, uint64_t offset) {
  Value part = view;
  part.type = type;
  part.view_at += static_cast<uint32_t>(offset);
  part.kept = nullptr;
  return part;
}

// A view of one word of the union is the word itself: it has an address.
Value CodeWriter::view_or_word(const Value& view) {
  if (view.type != view_word_type(view)) return view;
  Value word = view;
  word.ir = view_word(view, 0);
  word.view_index = nullptr;
  word.in_words = false;
  word.view_at = 0;
  return word;
}

Value CodeWriter::view_element(const Value& view, const ir::Expression* position, Location at) {
  ir::Builder& make = build(at);
  Value part = view_part(view, view.type->inner, 0);
  if (position->kind == ir::ExpressionKind::Constant)
    return view_part(part, part.type, position->bits * view_part_size(view.type));
  const Type* wide = table_.get(TypeKind::Int);
  const ir::Expression* offset = make.binary(ir::Operator::Multiply, make.convert(wide, position),
                                             make.constant_int(static_cast<int64_t>(view_part_size(view.type))));
  part.view_index = view.view_index == nullptr ? offset : make.binary(ir::Operator::Add, view.view_index, offset);
  return part;
}

// The offset of a byte of the view, as an int.
const ir::Expression* CodeWriter::view_offset(const Value& view, uint32_t byte) {
  ir::Builder& make = build(view.ir->at);
  const ir::Expression* constant = make.constant_int(view.view_at + byte);
  return view.view_index == nullptr ? constant : make.binary(ir::Operator::Add, view.view_index, constant);
}

const ir::Expression* CodeWriter::view_word(const Value& view, uint32_t byte) {
  ir::Builder& make = build(view.ir->at);
  const uint64_t size = view_word_type(view)->size;
  if (view.view_index == nullptr) return make.index(view.ir, static_cast<int32_t>((view.view_at + byte) / size));
  const int64_t bits = std::countr_zero(size);
  return make.index(view.ir, make.binary(ir::Operator::ShiftRight, view_offset(view, byte), make.constant_int(bits)));
}

// How far a number of 1 or 2 bytes is shifted in its word.
const ir::Expression* CodeWriter::view_shift(const Value& view) {
  ir::Builder& make = build(view.ir->at);
  const uint64_t size = view_word_type(view)->size;
  if (view.view_index == nullptr) return make.constant_int(static_cast<int64_t>(view.view_at % size * 8));
  const ir::Expression* last = make.constant_int(static_cast<int64_t>(size - 1));
  return make.binary(ir::Operator::Multiply, make.binary(ir::Operator::And, view_offset(view, 0), last),
                     make.constant_int(8));
}

// A pointer to the first byte of a view: as a number it is somewhere in a word, as a pointer it is anywhere.
const ir::Expression* CodeWriter::view_address(const Value& view) {
  ir::Builder& make = build(view.ir->at);
  const bool is_const = view.is_const || is_read_only(view.space);
  const Type* bytes = table_.pointer(table_.get(TypeKind::UChar), view.space, is_const);
  return make.pointer_add(make.pointer_cast(bytes, make.address_of(view.ir)), view_offset(view, 0));
}

const ir::Expression* CodeWriter::read_view(const Value& view) {
  const Type* type = view.type;
  ir::Builder& make = build(view.ir->at);
  view_check_count(type, view.ir->at);
  if (type->is_scalar()) {
    const Type* word = view_word_type(view);
    if (type->size > word->size) {
      const Type* pair = table_.vector(word, 2);
      return make.bitcast(type, make.construct(pair, {view_word(view, 0), view_word(view, 4)}));
    }
    const ir::Expression* number = view_word(view, 0);
    if (type->size < word->size) {
      const Type* narrow = table_.get(type->size == 1 ? TypeKind::UChar : TypeKind::UShort);
      const ir::Expression* bits = make.convert(table_.get(TypeKind::UInt), number);
      number = make.convert(narrow, make.binary(ir::Operator::ShiftRight, bits, view_shift(view)));
    }
    return type->is(TypeKind::Bool) ? make.convert(type, number) : make.bitcast(type, number);
  }
  std::vector<const ir::Expression*> parts;
  if (type->is_struct()) {
    for (const Field& field : type->fields) parts.push_back(read(view_part(view, field.type, field.offset)));
    return make.construct(type, std::move(parts));
  }
  for (uint32_t i = 0; i < type->count; ++i)
    parts.push_back(read(view_part(view, type->inner, i * view_part_size(type))));
  return build(view.ir->at).construct(plain(type), std::move(parts));
}

void CodeWriter::write_view(const Value& view, const ir::Expression* value, Location at) {
  const Type* type = view.type;
  view_check_count(type, at);
  const Type* word = view_word_type(view);
  if (type->is_scalar()) {
    const ir::Expression* number = settle(build(at).convert(type, value));
    ir::Builder& make = build(at);
    if (type->size > word->size) {
      const ir::Expression* pair = settle(make.bitcast(table_.vector(word, 2), number));
      emit(make.assign(view_word(view, 0), make.index(pair, 0)));
      return emit(make.assign(view_word(view, 4), make.index(pair, 1)));
    }
    const Type* narrow = table_.get(type->size == 1 ? TypeKind::UChar : TypeKind::UShort);
    const bool is_bool = type->is(TypeKind::Bool);
    if (type->size == word->size) {
      const ir::Expression* bits = is_bool ? make.convert(word, number) : make.bitcast(word, number);
      return emit(make.assign(view_word(view, 0), bits));
    }
    const Type* wide = table_.get(TypeKind::UInt);
    const ir::Expression* bits =
        make.convert(wide, is_bool ? make.convert(narrow, number) : make.bitcast(narrow, number));
    const ir::Expression* shift = settle(view_shift(view));
    const ir::Expression* mask =
        make.binary(ir::Operator::ShiftLeft, make.constant_uint(type->size == 1 ? 0xff : 0xffff), shift);
    const ir::Expression* rest = make.binary(ir::Operator::And, make.convert(wide, view_word(view, 0)),
                                             make.unary(ir::Operator::Complement, mask));
    const ir::Expression* all = make.binary(ir::Operator::Or, rest, make.binary(ir::Operator::ShiftLeft, bits, shift));
    return emit(make.assign(view_word(view, 0), make.convert(word, all)));
  }
  ir::Variable& kept = local("view", value->type, value, at);
  const ir::Expression* whole = build(at).variable(kept);
  if (type->is_struct()) {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      assign(view_part(view, type->fields[i].type, type->fields[i].offset), build(at).member(whole, i), at);
    return;
  }
  for (uint32_t i = 0; i < type->count; ++i)
    assign(view_part(view, type->inner, i * view_part_size(type)), build(at).index(whole, static_cast<int32_t>(i)), at);
}

}  // namespace kymo::shader
