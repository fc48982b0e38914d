#include "shader/emit/glsl_resolve.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shader/emit/glsl_memory.h"
#include "shader/ir/uses.h"

namespace kymo::shader::glsl {
namespace {

std::string_view glsl_cell_name(const Cell& cell) {
  return cell.variable != nullptr && !cell.variable->name.empty() ? std::string_view(cell.variable->name)
                                                                  : "a temporary";
}

// Constants are written as values of their types.
bool glsl_may_be_words(const Cell& cell) { return cell.variable->space != Space::Program && cell.shapes.empty(); }

// Nothing can follow memory whose length the caller sets.
bool glsl_may_be_together(const Cell& a, const Cell& b) {
  const auto is_shared = [](const Cell& cell) { return cell.variable->space == Space::Threadgroup; };
  return glsl_may_be_words(a) && glsl_may_be_words(b) && !a.is_memory && !b.is_memory && is_shared(a) == is_shared(b);
}

}  // namespace

Path path_of_bytes() { return {{true, 0, 0}}; }

uint32_t Shape::indices() const {
  uint32_t runs = 0;
  for (size_t i = 0; i < path.size(); ++i) runs += path[i].is_element && (i == 0 || !path[i - 1].is_element);
  return runs;
}

bool join(Shape& into, const Shape& from, const Location& at) {
  const bool kept = into.is_kept || from.is_kept;
  bool changed = kept != into.is_kept;
  if (into.root == nullptr && from.root != nullptr) {
    into = from;
    changed = true;
  } else if (from.root != nullptr && into.root != from.root) {
    if (glsl_may_be_together(*into.root, *from.root)) throw Reinterpreted{into.root->variable, from.root->variable};
    const auto has_pointers = [](const Cell& cell) {
      return !glsl_may_be_words(cell) && cell.variable->space == Space::Thread;
    };
    if (has_pointers(*into.root) && has_pointers(*from.root))
      throw Rejected{at,
                     base::format("a pointer that may point to two different variables, \"{}\" and \"{}\", is not "
                                  "supported on Vulkan if these contain pointers: use an array, and indices instead "
                                  "of pointers",
                                  glsl_cell_name(*into.root), glsl_cell_name(*from.root))};
    throw Rejected{at, base::format("a pointer that may point to two different variables, \"{}\" and \"{}\", is not "
                                    "supported on Vulkan if they are constants, or memory that the caller gives: copy "
                                    "them to variables",
                                    glsl_cell_name(*into.root), glsl_cell_name(*from.root))};
  } else if (from.root != nullptr && into.path != from.path) {
    if (glsl_may_be_words(*into.root)) throw Reinterpreted{into.root->variable};
    throw Rejected{
        at, base::format("a pointer that may point to two different members of \"{}\" is not supported on Vulkan",
                         glsl_cell_name(*into.root))};
  }
  into.is_kept = kept;
  return changed;
}

Part part_of(Types& types, const Cell& cell, const Path& path) {
  Part part{cell.type, 0};
  if (cell.is_words) return part;  // no static pointers are in it
  for (size_t i = 0; i < path.size(); ++i) {
    const Step& step = path[i];
    if (step.is_element) {
      if (i != 0 || !cell.is_memory) part.type = part.type->inner;
    } else {
      part.first += types.static_pointers_before(part.type, step.field);
      part.type = part.type->fields[step.field].type;
    }
  }
  return part;
}

namespace {

constexpr uint32_t kMaxWalks = 64;
constexpr uint32_t kMaxInstances = 4096;  // for one kernel, on average
constexpr uint32_t kMaxShapes = 256;
constexpr uint32_t kMaxDepth = 1000;

using ir::ExpressionKind;
using ir::StatementKind;

}  // namespace

void Resolver::check_depth(uint32_t depth, const Location& at) {
  if (depth > kMaxDepth)
    throw Rejected{at, base::format("expressions, statements and calls are nested more than {} deep here", kMaxDepth)};
}

Resolver::Depth::Depth(Resolver& resolver, const Location& at) : depth_(resolver.depth_) {
  check_depth(depth_ + 1, at);
  ++depth_;
}

void KernelSet::add(uint32_t kernel) {
  if (kernel / 64 >= bits_.size()) bits_.resize(kernel / 64 + 1);
  bits_[kernel / 64] |= uint64_t{1} << kernel % 64;
}

void KernelSet::add(const KernelSet& other) {
  if (other.bits_.size() > bits_.size()) bits_.resize(other.bits_.size());
  for (size_t i = 0; i < other.bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

const ir::Expression& without_casts(const ir::Expression& pointer) {
  const ir::Expression* at = &pointer;
  while (at->kind == ExpressionKind::PointerCast && at->operands[0]->type->is_pointer() &&
         at->operands[0]->type->inner == at->type->inner && is_address(at->operands[0]->type) == is_address(at->type))
    at = at->operands[0];
  return *at;
}

Direct direct_place(const ir::Expression& dereference) {
  const ir::Expression& pointer = without_casts(*dereference.operands[0]);
  if (pointer.kind == ExpressionKind::AddressOf) return {pointer.operands[0]};
  if (pointer.kind == ExpressionKind::Decay) return {pointer.operands[0], true};
  if (pointer.kind != ExpressionKind::PointerAdd) return {};
  const ir::Expression& first = without_casts(*pointer.operands[0]);
  if (first.kind == ExpressionKind::Decay) return {first.operands[0], true, pointer.operands[1]};
  return {};
}

const std::vector<Instance*>& Resolver::run() {
  const std::vector<ir::Function*> kernels = module_.kernels();
  do {
    if (++walk_ > kMaxWalks) throw Rejected{kernels[0]->at, "its pointers are too complex for Vulkan"};
    is_changed_ = false;
    if (walk(kernels)) forget();
  } while (is_changed_);
  // A pointer that pointers are to is an int.
  for (Cell& cell : cells_)
    for (Shape& shape : cell.shapes) shape.is_kept |= cell.is_rooted || !is_static_pointer(cell.type);
  for (uint32_t i = 0; i < kernels.size(); ++i) collect(instance_for(*kernels[i], {}, kernels[i]->at), i);
  return order_;
}

// What one kernel reinterprets does not end the walk of the others, so there are few walks even with many kernels.
bool Resolver::walk(const std::vector<ir::Function*>& kernels) {
  bool found = false;
  for (const ir::Function* kernel : kernels) {
    try {
      resolve(instance_for(*kernel, {}, kernel->at));
    } catch (const Reinterpreted& reinterpreted) {
      put_into_words(reinterpreted);
      found = true;
    }
  }
  return found;
}

void Resolver::put_into_words(const Reinterpreted& found) {
  const auto group_of = [&](const ir::Variable* variable) -> Together& {
    Together& group = reinterpreted_[variable];
    if (group == nullptr) group = std::make_shared<std::vector<const ir::Variable*>>(1, variable);
    return group;
  };
  const Together group = group_of(found.variable);
  if (found.other == nullptr) return;
  const Together other = group_of(found.other);
  if (other == group) return;
  for (const ir::Variable* variable : *other) {
    group->push_back(variable);
    reinterpreted_[variable] = group;
  }
}

// The first variable of an array has it in its cell.
void Resolver::set_words(Instance& instance, Cell& cell) {
  const auto found = reinterpreted_.find(cell.variable);
  if (found == reinterpreted_.end()) return;
  const std::vector<const ir::Variable*>& group = *found->second;
  cell.is_words = true;
  for (const ir::Variable* variable : group) {
    const uint64_t align = std::max<uint64_t>(variable->type->align, sizeof(uint32_t));
    const uint64_t offset = (cell.bytes + align - 1) / align * align;
    if (variable == cell.variable) cell.offset = offset;
    cell.bytes = offset + variable->type->size;
  }
  if (group.size() == 1) return;
  Cell& first = group[0] == cell.variable ? cell : this->cell(instance, *group[0]);
  first.is_rooted = true;
  cell.home = &first;
}

// All shapes, because those of reinterpreted variables are different.
void Resolver::forget() {
  cells_.clear();
  plain_.clear();
  memories_.clear();
  instances_.clear();
  by_function_.clear();
  current_ = nullptr;
  is_changed_ = true;
}

// Instances for shapes that changed later are not collected.
void Resolver::collect(Instance& instance, uint32_t kernel) {
  if (instance.kernels.contains(kernel)) return;
  const bool is_new = instance.kernels == KernelSet();
  instance.kernels.add(kernel);
  for (Instance* callee : instance.callees) collect(*callee, kernel);
  if (is_new) order_.push_back(&instance);
}

Instance& Resolver::instance_for(const ir::Function& function, Shapes arguments, const Location& at) {
  std::vector<Instance*>& known = by_function_[&function];
  for (Instance* instance : known)
    if (instance->arguments == arguments) return *instance;
  if (instances_.size() >= kMaxInstances * module_.kernels().size())
    throw Rejected{at, base::format("pointers to variables make more than {} functions here, too many for Vulkan: pass "
                                    "values, or device pointers",
                                    kMaxInstances)};
  Instance& made = instances_.emplace_back();
  made.function = &function;
  made.arguments = std::move(arguments);
  known.push_back(&made);
  return made;
}

Cell& Resolver::cell(Instance& instance, const ir::Variable& variable) {
  const uint32_t pointers = types_.static_pointers(variable.type);
  const bool is_own = pointers != 0 && variable.space != Space::Program;
  Cell*& known = is_own ? instance.cells[&variable] : plain_[&variable];
  if (known != nullptr) return *known;
  if (pointers > kMaxShapes)
    throw Rejected{{},
                   base::format("\"{}\" has {} pointers to variables in it; the max on Vulkan is {}", variable.name,
                                pointers, kMaxShapes)};
  known = &cells_.emplace_back();
  known->variable = &variable;
  known->type = variable.type;
  known->shapes.resize(pointers);
  Cell& made = *known;
  if (pointers == 0) set_words(instance, made);
  if (pointers != 0 && variable.space == Space::Program && variable.value != nullptr)
    write({&made, {}}, value(*variable.value), variable.value->at);
  return made;
}

Shape Resolver::shape(Instance& instance, const ir::Expression& pointer) {
  Instance* const before = std::exchange(current_, &instance);
  Shape shape = value(pointer)[0];
  current_ = before;
  return shape;
}

Cell& Resolver::memory(const ir::Variable& variable) {
  Cell*& known = memories_[&variable];
  if (known != nullptr) return *known;
  known = &cells_.emplace_back();
  known->variable = &variable;
  known->type = variable.type->inner;
  known->is_memory = known->is_rooted = true;
  known->is_words = reinterpreted_.contains(&variable);
  known->shapes.resize(std::min(types_.static_pointers(known->type), kMaxShapes));
  return *known;
}

void Resolver::resolve(Instance& instance) {
  if (instance.walk == walk_) return;
  const Depth depth(*this, instance.function->at);
  Instance* const caller = std::exchange(current_, &instance);
  instance.walk = walk_;
  instance.calls.clear();
  instance.callees.clear();
  seed(instance);
  block(instance.function->body);
  current_ = caller;
}

// The parameters at the start of a function.
void Resolver::seed(Instance& instance) {
  const ir::Function& function = *instance.function;
  for (const ir::Binding& binding : function.bindings) {
    if (binding.kind != ir::BindingKind::Threadgroup) continue;
    Shape shape{&memory(*binding.variable), path_of_bytes(), true};
    join(own(*binding.variable).shapes[0], shape, function.at);
  }
  size_t next = 0;
  for (const ir::Variable* parameter : function.parameters) {
    if (function.is_kernel) break;
    if (types_.static_pointers(parameter->type) == 0) continue;
    for (Shape& shape : own(*parameter).shapes) join(shape, instance.arguments[next++], function.at);
  }
}

void Resolver::block(const ir::Block& block) {
  for (const ir::Statement* each : block) statement(*each);
}

void Resolver::statement(const ir::Statement& statement) {
  const Depth depth(*this, statement.at);
  switch (statement.kind) {
    case StatementKind::Declare:
      return declare(statement);
    case StatementKind::Assign:
      return assign(statement);
    case StatementKind::Return: {
      if (statement.value == nullptr) return;
      Shapes shapes = value(*statement.value);
      current_->result.resize(shapes.size());
      for (size_t i = 0; i < shapes.size(); ++i) {
        shapes[i].is_kept = true;
        join(current_->result[i], shapes[i], statement.at);
      }
      return;
    }
    default:
      break;
  }
  block(statement.before);
  if (statement.value != nullptr) visit(*statement.value);
  block(statement.body);
  block(statement.otherwise);
  block(statement.step);
  for (const ir::Case& one : statement.cases) block(one.body);
}

void Resolver::declare(const ir::Statement& statement) {
  Cell& declared = own(*statement.variable);
  if (statement.value == nullptr) return;
  const Shapes shapes = value(*statement.value);
  if (!shapes.empty()) write({&declared, {}}, shapes, statement.at);
}

void Resolver::assign(const ir::Statement& statement) {
  const Spot spot = place(*statement.place);
  Shapes shapes = value(*statement.value);
  for (Shape& shape : shapes) shape.is_kept = true;
  if (!shapes.empty()) write(spot, shapes, statement.at);
}

Shapes Resolver::read(const Spot& spot, const Type* type) {
  const uint32_t count = types_.static_pointers(type);
  if (spot.cell == nullptr) return Shapes(count);
  spot.cell->was_read = true;
  const uint32_t first = part_of(types_, *spot.cell, spot.path).first;
  const Shapes& all = spot.cell->shapes;
  if (first + count > all.size()) return Shapes(count);
  return {all.begin() + first, all.begin() + first + count};
}

void Resolver::write(const Spot& spot, const Shapes& shapes, const Location& at) {
  if (spot.cell == nullptr) return;
  const uint32_t first = part_of(types_, *spot.cell, spot.path).first;
  for (uint32_t i = 0; i < shapes.size() && first + i < spot.cell->shapes.size(); ++i)
    if (join(spot.cell->shapes[first + i], shapes[i], at)) is_changed_ |= spot.cell->was_read;
}

// ---- The shapes of expressions --------------------------------------------------------------------------------------

namespace {

using ir::ExpressionKind;

// Whether a place can be reinterpreted as another type.
bool glsl_same_size(const Type* from, const Type* to) {
  return from->is_number() && to->is_number() && from->size == to->size && !from->packed && !to->packed;
}

Shape null_shape() {
  Shape null;
  null.is_kept = true;
  return null;
}

}  // namespace

void Resolver::visit(const ir::Expression& expression) {
  const Depth depth(*this, expression.at);
  if (types_.static_pointers(expression.type) != 0) {
    value(expression);
    return;
  }
  // Down the left side without recursion: sums are long to the left, and only sums may be.
  uint32_t down = depth_;
  for (const ir::Expression* at = &expression;;) {
    if (at->kind != ExpressionKind::Binary) check_depth(++down, at->at);
    switch (at->kind) {
      case ExpressionKind::Call:
        call(*at);
        return;
      case ExpressionKind::Variable:
      case ExpressionKind::Dereference:
      case ExpressionKind::Member:
      case ExpressionKind::Index:
      case ExpressionKind::Swizzle:
        place(*at);
        return;
      case ExpressionKind::Intrinsic:
        current_->asks_grid |=
            at->intrinsic == ir::Intrinsic::GridSize || at->intrinsic == ir::Intrinsic::FullGroupSize;
        break;
      default:
        break;
    }
    for (size_t i = 1; i < at->operands.size(); ++i) visit(*at->operands[i]);
    if (at->operands.empty()) return;
    at = at->operands[0];
    if (types_.static_pointers(at->type) != 0) {
      value(*at);
      return;
    }
  }
}

Shapes Resolver::value(const ir::Expression& expression) {
  const uint32_t count = types_.static_pointers(expression.type);
  if (count == 0) {
    visit(expression);
    return {};
  }
  const Depth depth(*this, expression.at);
  if (is_static_pointer(expression.type) && expression.kind != ExpressionKind::Call && !ir::is_place(expression))
    return {pointer(expression)};
  switch (expression.kind) {
    case ExpressionKind::Call: {
      Instance& callee = call(expression);
      callee.result.resize(count);
      return callee.result;
    }
    case ExpressionKind::Construct:
      return construct(expression);
    case ExpressionKind::Conditional: {
      visit(*expression.operands[0]);
      Shapes shapes = value(*expression.operands[1]);
      const Shapes others = value(*expression.operands[2]);
      for (size_t i = 0; i < shapes.size(); ++i) join(shapes[i], others[i], expression.at);
      return shapes;
    }
    case ExpressionKind::Zero: {
      Shapes shapes(count);
      for (Shape& shape : shapes) shape.is_kept = true;
      return shapes;
    }
    default:
      break;
  }
  if (ir::is_place(expression)) return read(place(expression), expression.type);
  if (expression.kind == ExpressionKind::Member) {
    const Shapes whole = value(*expression.operands[0]);
    const uint32_t first = types_.static_pointers_before(expression.operands[0]->type, expression.index);
    return {whole.begin() + first, whole.begin() + first + count};
  }
  if (expression.kind == ExpressionKind::Index) {
    visit(*expression.operands[1]);
    return value(*expression.operands[0]);
  }
  return Shapes(count);
}

Shape Resolver::pointer(const ir::Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay: {
      Spot spot = place(*expression.operands[0]);
      if (spot.cell == nullptr) return {};
      spot.cell->is_rooted = true;
      if (spot.cell->is_words) return {&spot.cell->storage(), path_of_bytes()};
      if (expression.kind == ExpressionKind::Decay) spot.path.push_back({true, 0, expression.operands[0]->type->count});
      return {spot.cell, std::move(spot.path)};
    }
    case ExpressionKind::PointerAdd: {
      Shape shape = value(*expression.operands[0])[0];
      const ir::Expression& count = *expression.operands[1];
      visit(count);
      // One object is an array of one: a number that is not known can only be 0.
      const bool may_be_zero = count.kind != ExpressionKind::Constant || count.bits == 0;
      if (shape.root != nullptr && !may_be_zero && (shape.path.empty() || !shape.path.back().is_element))
        throw Rejected{expression.at, "a pointer to something that is not in an array cannot be moved on Vulkan"};
      return shape;
    }
    case ExpressionKind::PointerCast:
      return converted(expression);
    case ExpressionKind::Conditional: {
      visit(*expression.operands[0]);
      Shape shape = value(*expression.operands[1])[0];
      join(shape, value(*expression.operands[2])[0], expression.at);
      return shape;
    }
    case ExpressionKind::Member:
    case ExpressionKind::Index: {
      // Of a value that is not a place.
      const Shapes whole = value(*expression.operands[0]);
      if (expression.kind == ExpressionKind::Index) visit(*expression.operands[1]);
      const bool is_member = expression.kind == ExpressionKind::Member;
      const uint32_t first =
          is_member ? types_.static_pointers_before(expression.operands[0]->type, expression.index) : 0;
      return first < whole.size() ? whole[first] : Shape{};
    }
    default:
      return null_shape();
  }
}

Shape Resolver::converted(const ir::Expression& cast) {
  const Type *from = cast.operands[0]->type, *to = cast.type->inner;
  if (cast.operands[0]->kind == ExpressionKind::Null) return null_shape();
  if (!is_static_pointer(from))
    throw Rejected{cast.at, base::format("a {} cannot be converted to a {} on Vulkan", TypeTable::name(from),
                                         TypeTable::name(cast.type))};
  Shape shape = value(*cast.operands[0])[0];
  if (from->inner == to || shape.root == nullptr || shape.root->is_words) return shape;
  // From an array to its first element, from a vector to its first component.
  const Type* inner = from->inner;
  for (; has_first_element(inner, to) && inner != to && !to->is_array(); inner = inner->inner)
    shape.path.push_back({true, 0, inner->count});
  if (inner == to || glsl_same_size(inner, to)) return shape;
  const Cell& root = *shape.root;
  if (!root.is_memory && to->size > root.type->size)
    throw Rejected{
        cast.at, base::format("a {} cannot be converted to a {} on Vulkan: \"{}\" has only {} bytes",
                              TypeTable::name(from), TypeTable::name(cast.type), root.variable->name, root.type->size)};
  if (root.variable->space == Space::Program && !has_known_bytes(*root.variable))
    throw Rejected{cast.at, base::format("a pointer to the constant \"{}\" cannot be converted to a {} on Vulkan: copy "
                                         "the constant to a variable, or use as_type on values",
                                         root.variable->name, TypeTable::name(cast.type))};
  if (!root.shapes.empty() || types_.static_pointers(to) != 0)
    throw Rejected{cast.at, base::format("a {} cannot be converted to a {} on Vulkan, because there are pointers to "
                                         "variables in it: pass them as parameters",
                                         TypeTable::name(from), TypeTable::name(cast.type))};
  throw Reinterpreted{root.variable};
}

Shapes Resolver::construct(const ir::Expression& expression) {
  Shapes shapes;
  for (const ir::Expression* part : expression.operands) {
    Shapes own_shapes = value(*part);
    for (Shape& shape : own_shapes) shape.is_kept = true;
    if (!expression.type->is_array()) {
      shapes.insert(shapes.end(), own_shapes.begin(), own_shapes.end());
      continue;
    }
    shapes.resize(own_shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i) join(shapes[i], own_shapes[i], part->at);
  }
  shapes.resize(types_.static_pointers(expression.type));
  for (const Shape& shape : shapes)
    if (shape.indices() > 1)
      throw Rejected{expression.at, "a pointer into an array in a structure in an array cannot be kept on Vulkan"};
  return shapes;
}

Spot Resolver::place(const ir::Expression& expression) {
  const Depth depth(*this, expression.at);
  switch (expression.kind) {
    case ExpressionKind::Variable:
      return {&own(*expression.variable), {}};
    case ExpressionKind::Dereference:
      return dereference(expression);
    case ExpressionKind::Member: {
      Spot spot = place(*expression.operands[0]);
      if (spot.cell != nullptr) spot.path.push_back({false, expression.index, 0});
      return spot;
    }
    case ExpressionKind::Index: {
      visit(*expression.operands[1]);
      Spot spot = place(*expression.operands[0]);
      const Type* whole = expression.operands[0]->type;
      if (spot.cell != nullptr && whole->is_array()) spot.path.push_back({true, 0, whole->count});
      return spot;
    }
    case ExpressionKind::Swizzle:
      return place(*expression.operands[0]);
    default:
      value(expression);
      return {};
  }
}

Spot Resolver::dereference(const ir::Expression& expression) {
  if (const Direct direct = direct_place(expression); direct.place != nullptr) {
    if (direct.index != nullptr) visit(*direct.index);
    Spot spot = place(*direct.place);
    if (direct.is_element && spot.cell != nullptr) spot.path.push_back({true, 0, direct.place->type->count});
    return spot;
  }
  const ir::Expression& address = *expression.operands[0];
  if (!is_static_pointer(address.type)) {
    visit(address);
    return {};
  }
  Shape shape = value(address)[0];
  return {shape.root, std::move(shape.path)};
}

Instance& Resolver::call(const ir::Expression& expression) {
  Shapes arguments;
  for (const ir::Expression* argument : expression.operands) {
    Shapes own_shapes = value(*argument);
    arguments.insert(arguments.end(), own_shapes.begin(), own_shapes.end());
  }
  Instance& callee = instance_for(*expression.function, std::move(arguments), expression.at);
  resolve(callee);
  if (current_->calls.emplace(&expression, &callee).second) current_->callees.push_back(&callee);
  return callee;
}

}  // namespace kymo::shader::glsl
