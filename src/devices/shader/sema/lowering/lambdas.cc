// Lambdas: a struct with the captured values, with an operator(). A copy is a member, a reference is a pointer to the
// variable.

#include <algorithm>

#include "shader/sema/lowering/lowering.h"
#include "shader/sema/lowering/walk.h"

namespace kymo::shader {

namespace {

struct LambdaCapture {
  std::string_view name;
  Value value;
  bool by_reference = false;
  bool is_pack = false;
};

bool lambdas_is_constant(const Value& value) { return !value.is_place || value.space == Space::Program; }

}  // namespace

Value Lowering::lambda(const ast::Expression& expression, Scope& scope) {
  const ast::Lambda& lambda = *expression.lambda;
  const Location at = expression.at;
  std::vector<LambdaCapture> captures;
  std::vector<std::string_view> packs;
  const auto add = [&](std::string_view name, const Value& value, bool by_reference) {
    const bool is_known =
        std::any_of(captures.begin(), captures.end(), [&](const auto& known) { return known.name == name; });
    if (!is_known) captures.push_back({name, value, by_reference});
  };
  const auto add_this = [&](bool by_reference, bool is_wanted) {
    if (body_.self) return add("this", *body_.self, by_reference);
    if (is_wanted) throw Rejected{at, "there is no \"this\" here to capture"};
  };
  const auto add_named = [&](std::string_view name, bool by_reference, bool is_wanted, Location where) {
    if (name == "this") return add_this(by_reference || !is_wanted, is_wanted);
    const std::vector<const Symbol*> found = lookup_.find(name, scope);
    if (found.empty()) {
      if (is_wanted) throw Rejected{where, "there is no name " + in_quotes(name) + " here to capture"};
      return;
    }
    const Symbol& symbol = *found.front();
    if (symbol.kind == Symbol::Kind::LocalPack) {
      const bool is_known =
          std::any_of(packs.begin(), packs.end(), [&](std::string_view known) { return known == name; });
      if (is_known) return;
      packs.push_back(name);
      for (const Value* element : symbol.locals) captures.push_back({name, *element, by_reference, true});
      return;
    }
    if (symbol.kind == Symbol::Kind::Local && symbol.value != nullptr) {
      if (!lambdas_is_constant(*symbol.value) &&
          (symbol.value->home == nullptr || symbol.value->home == body_.instance)) {
        add(name, *symbol.value, by_reference);
      }
      return;
    }
    if (symbol.owner != nullptr && !is_wanted) return add_this(true, false);  // a member without an object
    if (is_wanted)
      throw Rejected{where, in_quotes(name) + " is not a variable of the enclosing function: it needs no capture"};
  };
  for (const ast::Capture& capture : lambda.captures) {
    if (capture.value == nullptr) {
      add_named(capture.name, capture.by_reference, true, capture.at);
      continue;
    }
    const Value value = this->expression(*capture.value, scope);
    if (value.braces != nullptr || is_void(value)) throw Rejected{capture.at, "a capture needs a value"};
    add(capture.name, value, capture.by_reference);
  }
  if (lambda.capture_default != ast::CaptureDefault::None && lambda.function->body != nullptr) {
    std::unordered_set<std::string_view> names;
    collect_names(*lambda.function->body, names);
    std::vector<std::string_view> sorted(names.begin(), names.end());
    std::sort(sorted.begin(), sorted.end());
    for (const std::string_view name : sorted) {
      add_named(name, lambda.capture_default == ast::CaptureDefault::Reference, false, at);
    }
  }

  Class& made = types_.make_class();
  made.declaration = lambda.function;
  made.is_closure = true;
  made.lambda = &lambda;
  made.scope = &lookup_.make_scope(Scope::Kind::Class, &scope);
  made.scope->owner = &made;
  made.scope->name = "lambda";
  made.type = table_.make_struct("lambda", &made);
  std::vector<Field> fields;
  std::vector<const ir::Expression*> values;
  for (LambdaCapture& capture : captures) {
    Field field;
    field.name = std::string(capture.name) + (capture.is_pack ? "_" + std::to_string(fields.size()) : "");
    // The arrays of a group exist once.
    const bool by_reference = capture.by_reference || (capture.value.type->is_array() && capture.value.is_place &&
                                                       capture.value.space == Space::Threadgroup);
    if (by_reference && capture.value.is_place) {
      const ir::Expression* pointer = address(capture.value, at);
      field.type = pointer->type;
      values.push_back(pointer);
    } else {
      const ir::Expression* copy = copied(capture.value, at);
      field.type = copy->type;
      values.push_back(copy);
    }
    made.captures.push_back({capture.name, by_reference && capture.value.is_place, capture.is_pack});
    fields.push_back(std::move(field));
  }
  made.captured_packs = std::move(packs);
  table_.complete(*made.type, std::move(fields));
  Symbol& call = lookup_.make_symbol(Symbol::Kind::Function, "operator()", *made.scope);
  call.declaration = lambda.function;
  call.owner = &made;
  return rvalue(build(at).construct(made.type, std::move(values)), made.type);
}

void Lowering::bind_captures(const FunctionInstance& instance, Scope& scope) {
  const Class& closure = *instance.owner;
  const Value object = *body_.self;
  body_.self.reset();
  const Location at = instance.declaration->at;
  for (const std::string_view pack : closure.captured_packs) {
    if (scope.symbols.find(pack) == scope.symbols.end()) lookup_.make_symbol(Symbol::Kind::LocalPack, pack, scope);
  }
  for (uint32_t i = 0; i < closure.captures.size(); ++i) {
    const Class::Captured& captured = closure.captures[i];
    Value value = object;
    value.ir = build(at).member(object.ir, i);
    value.type = value.ir->type;
    value.is_const = !closure.lambda->is_mutable;
    value.home = &instance;
    if (captured.by_reference) value = place_at(value.ir, value.type->is_const);
    if (captured.name == "this") {
      body_.self = value;
      continue;
    }
    const auto known = scope.symbols.find(captured.name);
    if (known == scope.symbols.end()) {
      make_local(captured.name, value, scope);
    } else if (captured.is_pack && known->second.front()->kind == Symbol::Kind::LocalPack) {
      known->second.front()->locals.push_back(&lookup_.make_value(value));
      known->second.front()->locals.back()->home = &instance;
    }  // else a parameter hides it
  }
}

}  // namespace kymo::shader
