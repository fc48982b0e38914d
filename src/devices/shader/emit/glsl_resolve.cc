#include "shader/emit/glsl_resolve.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "shader/emit/walk.h"

namespace kymo::shader::glsl {
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

}  // namespace kymo::shader::glsl
