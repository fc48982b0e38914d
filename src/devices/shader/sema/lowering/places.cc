// Reads and writes values and places.

#include "base/text.h"
#include "shader/sema/lowering/code_writer.h"

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

const ir::Expression* CodeWriter::read(const Value& value) {
  if (value.braces != nullptr) throw Rejected{value.braces->at, "{...} has no type here: write the type before it"};
  if (value.ir == nullptr) throw Rejected{build_.at, "there is no value here: the expression is void"};
  if (value.kept != nullptr) return value.kept;
  ir::Builder& make = build(value.ir->at);
  const ir::Expression* read = value.ir;
  if (is_absent(value))
    return make.zero(effects_is_packed(value.type) ? table_.vector(value.type->inner, value.type->count) : value.type);
  if (value.bits != nullptr) return read_bits(value);
  if (value.in_words) return read_view(value);
  if (value.viewed != nullptr) {
    if (value.view_index != nullptr) return make.index(make.bitcast(value.viewed, read), value.view_index);
    return make.bitcast(value.viewed, read);
  }
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
  if (effects_is_packed(read->type)) return make.convert(table_.vector(read->type->inner, read->type->count), read);
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
  loaded.promoted = value.promoted;
  return loaded;
}

Value CodeWriter::decayed(const Value& value) {
  if (value.braces != nullptr || value.type == nullptr || !value.type->is_array()) return value;
  if (!value.is_place) {
    Value kept = keep(value, "array");
    return decayed(kept);
  }
  const Type* pointer = table_.pointer(value.type->inner, value.space, value.is_const || is_read_only(value.space));
  if (value.viewed != nullptr) return rvalue(build(value.ir->at).pointer_cast(pointer, view_address(value)), pointer);
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
  if (place.bits != nullptr) return write_bits(place, value, at);
  if (place.in_words) return write_view(place, value, at);
  if (place.viewed != nullptr) {
    if (place.view_index == nullptr) return emit(make.assign(place.ir, make.bitcast(place.ir->type, value)));
    ir::Variable& whole = local("view", place.viewed, make.bitcast(place.viewed, place.ir), at);
    emit(build(at).assign(make.index(make.variable(whole), place.view_index), value));
    return emit(make.assign(place.ir, make.bitcast(place.ir->type, make.variable(whole))));
  }
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
  if (place.bits != nullptr) throw Rejected{at, "a bit-field has no address: copy it to a variable"};
  const Type* pointer = table_.pointer(place.type, place.space, place.is_const || is_read_only(place.space));
  if (place.viewed != nullptr) return build(at).pointer_cast(pointer, view_address(place));
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
  Value place = rvalue(build(loaded.ir->at).variable(kept), loaded.type);
  place.is_place = true;
  return place;
}

}  // namespace kymo::shader
