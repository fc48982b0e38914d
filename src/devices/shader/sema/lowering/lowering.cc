#include "shader/sema/lowering/lowering.h"

#include <algorithm>

namespace kymo::shader {

Lowering::Lowering(Context& context, Lookup& lookup, Types& types, Templates& templates, Overloads& overloads)
    : CodeWriter(context),
      options_(context.options),
      diagnostics_(context.diagnostics),
      lookup_(lookup),
      types_(types),
      templates_(templates),
      overloads_(overloads) {}

void Lowering::lower() {
  for (const PlacedDeclaration& placed : lookup_.declared().asserts) {
    if (diagnostics_.is_full()) return;
    context_.reporting([&] { types_.check_assert(*placed.declaration, *placed.scope); });
  }
  context_.reporting([&] {
    check_constant_indices();
    check_given_constants();
  });
  lower_kernels();
  if (options_.kernels.empty()) lower_other_functions();
  warn_about_unset_constants();
}

// Functions that no kernel needs are lowered too, to find their errors.
void Lowering::lower_other_functions() {
  for (const Symbol* symbol : lookup_.declared().functions) {
    if (diagnostics_.is_full()) return;
    const ast::Declaration& function = *symbol->declaration;
    if (function.at.file != context_.user_file || function.is_kernel || function.body == nullptr) continue;
    context_.reporting([&] {
      const std::vector<Parameter>& parameters = overloads_.signature(*symbol, {}).parameters;
      // Otherwise its instances depend on the functions that it is called with.
      if (std::ranges::none_of(parameters, [](const Parameter& each) { return each.type.function != nullptr; }))
        need(overloads_.instance(*symbol, {}, {}, nullptr, function.at), function.at);
    });
  }
}

// ---- Bodies of functions --------------------------------------------------------------------------------------------

// They are lowered when the first call needs them, before the caller.

namespace {

constexpr uint32_t kCallDepth = 200;
constexpr size_t kMaxNotes = 6;  // that name the instances around an error

std::string functions_name(const FunctionInstance& instance) {
  if (instance.owner == nullptr) return std::string(instance.declaration->name);
  if (instance.owner->is_closure) return "lambda";
  const std::string_view own = instance.owner->scope->name;
  if (instance.declaration->type == nullptr && instance.declaration->conversion == nullptr)
    return "make_" + std::string(own);
  return std::string(own) + "_" +
         std::string(instance.declaration->conversion != nullptr ? "convert" : instance.declaration->name);
}

// The number of notes of the last error.
size_t functions_notes(const Diagnostics& diagnostics) {
  const std::vector<Report>& list = diagnostics.list();
  size_t notes = 0;
  while (notes < list.size() && list[list.size() - 1 - notes].severity == Severity::Note) ++notes;
  return notes;
}

bool functions_is_constructor(const FunctionInstance& instance) {
  return instance.owner != nullptr && !instance.owner->is_closure && instance.declaration->type == nullptr &&
         instance.declaration->conversion == nullptr;
}

}  // namespace

void Lowering::need(FunctionInstance& instance, Location at) {
  using State = FunctionInstance::State;
  if (instance.state == State::Lowered) return;
  if (instance.state == State::Failed) throw Rejected{at, ""};
  if (instance.state == State::Lowering) return need_itself(instance, at);
  const DepthGuard guard(call_depth_, kCallDepth, at, "the chain of calls");
  const size_t reported = diagnostics_.list().size();
  instance.state = State::Lowering;
  {
    const Restore<Body> body(body_);
    const Restore<uint32_t> depth(expression_depth_);
    body_ = Body();
    expression_depth_ = 0;
    try {
      lower_body(instance);
      instance.state = State::Lowered;
    } catch (const Rejected& rejected) {
      instance.state = State::Failed;
      context_.report(rejected);
    }
  }
  const bool is_template =
      !instance.arguments.empty() || (instance.owner != nullptr && !instance.owner->arguments.empty());
  if (diagnostics_.list().size() != reported && is_template && functions_notes(diagnostics_) < kMaxNotes) {
    diagnostics_.note(at, "in the instantiation of " + in_quotes(instance.declaration->name) + " that is needed here");
  }
  if (instance.state == State::Failed) throw Rejected{at, ""};
  module_.functions.push_back(instance.function);
}

// A call of a function that is being lowered: resolve_recursion() makes a loop or copies of it.
void Lowering::need_itself(FunctionInstance& instance, Location at) {
  const std::string name = in_quotes(instance.declaration->name);
  if (functions_is_constructor(instance))
    throw Rejected{
        at, "recursion is not supported: the constructor of " + in_quotes(instance.owner->type) + " calls itself"};
  const Type* result = body_.instance == &instance ? body_.result : instance.result;
  if (result == nullptr)
    throw Rejected{at, name + " returns auto and calls itself before a return: write the type that it returns"};
  set_result(instance, result);
  instance.is_recursive = true;
  with_effects_.insert(instance.function);  // until they are known
}

void Lowering::set_result(FunctionInstance& instance, const Type* result) {
  instance.result = result;
  instance.result_is_reference = result->is(TypeKind::Reference);
  instance.function->result =
      instance.result_is_reference ? table_.pointer(result->inner, result->space, result->is_const) : plain(result);
}

void Lowering::lower_body(FunctionInstance& instance) {
  const ast::Declaration& declaration = *instance.declaration;
  if (declaration.body == nullptr && !declaration.is_defaulted) {
    throw Rejected{declaration.at, "the function " + in_quotes(declaration.name) + " is declared, but not defined"};
  }
  if (!declaration.other_stage.empty()) {
    throw Rejected{declaration.at,
                   "a " + std::string(declaration.other_stage) + " function is not supported: only kernels are"};
  }
  ir::Function& function = module_.make_function(functions_name(instance));
  function.at = declaration.at;
  instance.function = &function;
  body_.instance = &instance;
  body_.block = &function.body;
  Scope& scope = lookup_.make_scope(Scope::Kind::Function, instance.scope);
  bind_parameters(instance, scope);
  if (instance.owner != nullptr && instance.owner->is_closure) bind_captures(instance, scope);
  if (functions_is_constructor(instance)) return lower_constructor(instance, scope);
  lower_statements(instance, scope, false);
}

Symbol& Lowering::make_local(std::string_view name, const Value& value, Scope& scope) {
  for (const Symbol* symbol : scope.own(name)) {
    if (symbol->kind == Symbol::Kind::Local || symbol->kind == Symbol::Kind::LocalPack)
      throw Rejected{build_.at, in_quotes(name) + " is declared already here: give one of them another name"};
  }
  Symbol& symbol = lookup_.make_symbol(Symbol::Kind::Local, name, scope);
  symbol.value = &lookup_.make_value(value);
  symbol.value->home = body_.instance;
  return symbol;
}

void Lowering::bind_parameters(FunctionInstance& instance, Scope& scope) {
  const ast::Declaration& declaration = *instance.declaration;
  ir::Function& function = *instance.function;
  const auto add = [&](std::string_view name, const Type* type) -> ir::Variable& {
    ir::Variable& made = module_.make_variable(std::string(name), type);
    made.is_parameter = true;
    function.parameters.push_back(&made);
    return made;
  };
  if (has_object(instance)) {
    ir::Variable& self = add("self", table_.pointer(instance.owner->type, instance.this_space, instance.this_const));
    settled_.insert(&self);
    body_.self = place_at(build(declaration.at).variable(self), instance.this_const);
  }
  const auto value_of = [&](const Parameter& parameter) {
    const Type* type = parameter.type.type;
    build_.at = parameter.declaration != nullptr ? parameter.declaration->at : declaration.at;
    if (type->is(TypeKind::Reference)) {
      ir::Variable& made = add(parameter.name, table_.pointer(type->inner, type->space, type->is_const));
      settled_.insert(&made);
      return place_at(build_.variable(made), type->is_const);
    }
    ir::Variable& made = add(parameter.name, plain(type));
    Value value = rvalue(build_.variable(made));
    value.is_place = true;
    value.is_const = parameter.type.is_const;
    if (value.is_const && !has_mutable_members(type)) settled_.insert(&made);
    return value;
  };
  size_t next = 0;
  for (const ast::Declaration* written : declaration.parameters) {
    if (!written->is_variadic) {
      if (next >= instance.parameters.size()) break;
      const Value value = value_of(instance.parameters[next++]);
      if (!written->name.empty()) make_local(written->name, value, scope);
      continue;
    }
    std::vector<Value*> elements;
    while (next < instance.parameters.size() && instance.parameters[next].declaration == written) {
      Value& value = lookup_.make_value(value_of(instance.parameters[next++]));
      value.home = &instance;
      elements.push_back(&value);
    }
    if (!written->name.empty())
      lookup_.make_symbol(Symbol::Kind::LocalPack, written->name, scope).locals = std::move(elements);
  }
}

void Lowering::lower_statements(FunctionInstance& instance, Scope& scope, bool is_kernel) {
  const Restore<Body> restore(body_);
  ir::Function& function = *instance.function;
  if (body_.instance != &instance) body_ = Body();
  body_.instance = &instance;
  body_.block = &function.body;
  body_.is_kernel = is_kernel;
  body_.result = instance.result;
  if (is_kernel) {
    for (const auto& [name, symbols] : scope.symbols) {
      for (const Symbol* symbol : symbols) {
        if (symbol->value != nullptr) symbol->value->home = &instance;
      }
    }
  }
  const size_t reported = diagnostics_.list().size();
  if (instance.declaration->body != nullptr) block(instance.declaration->body->statements, scope, function.body);
  if (body_.result == nullptr) {
    // Its result is not known. Its callers do not report it again.
    if (diagnostics_.list().size() != reported) throw Rejected{instance.declaration->at, ""};
    body_.result = table_.get(TypeKind::Void);
  }
  const Type* called = function.result;
  set_result(instance, body_.result);
  function.is_defined = true;
  with_effects_.erase(&function);
  if (body_.has_effects) with_effects_.insert(&function);
  if (instance.is_recursive && called != function.result)
    throw Rejected{instance.declaration->at, "recursion is not supported with pointers to different address spaces"};
}

// A constructor returns the object that it makes.
void Lowering::lower_constructor(FunctionInstance& instance, Scope& scope) {
  const ast::Declaration& declaration = *instance.declaration;
  Class& owner = *instance.owner;
  // The words of a union need a value before parts of them are written. A constructor that is `= default` is called for
  // `T()` and `{}` too, which give zeros.
  const bool is_zero = owner.in_words || declaration.is_defaulted;
  ir::Variable& object =
      local("self", owner.type, is_zero ? build(declaration.at).zero(owner.type) : nullptr, declaration.at);
  Value self = variable_place(object, declaration.at);
  body_.self = self;
  body_.is_constructor = true;
  const auto initializer_of = [&](std::string_view name) -> const ast::Declaration::MemberInitializer* {
    for (const auto& initializer : declaration.member_initializers) {
      if (initializer.name.last().name == name) return &initializer;
    }
    return nullptr;
  };
  for (const auto& initializer : declaration.member_initializers) {
    const std::string_view name = initializer.name.last().name;
    bool is_known = name == owner.scope->name;
    for (const Member& member : owner.members) is_known = is_known || member.name == name;
    for (size_t i = 0; i < owner.bases.size(); ++i) {
      is_known = is_known || base_is_named(*owner.bases[i], initializer.name, *instance.scope);
    }
    if (!is_known)
      throw Rejected{initializer.at, "there is no member or base " + in_quotes(name) + " in " + in_quotes(owner.type)};
  }
  if (const auto* delegated = initializer_of(owner.scope->name)) {
    const std::vector<Value> given = arguments(delegated->arguments, scope);
    const ir::Expression* made = construct_class(owner, given, delegated->at);
    assign(self, made, delegated->at);
  } else {
    for (uint32_t i = 0; i < owner.members.size(); ++i) initialize_member(owner, i, self, declaration, scope);
  }
  body_.result = owner.type;
  if (declaration.body != nullptr) block(declaration.body->statements, scope, instance.function->body);
  emit(build(declaration.at).return_(build_.variable(object)));
  instance.result = owner.type;
  instance.function->result = owner.type;
  instance.function->is_defined = true;
  if (body_.has_effects) with_effects_.insert(instance.function);
}

bool Lowering::base_is_named(const Class& base, const ast::Name& name, Scope& scope) {
  if (name.last().name == base.scope->name) return true;
  ast::Expression named;
  named.kind = ast::ExpressionKind::Name;
  named.name = name;
  const std::optional<QualifiedType> type = types_.try_type(named, scope);
  return type && type->type == base.type;
}

void Lowering::initialize_member(Class& owner, uint32_t index, const Value& self, const ast::Declaration& constructor,
                                 Scope& scope) {
  const Member& field = owner.members[index];
  const bool is_base = index < owner.bases.size();
  const auto assign = [&](const ir::Expression* value, Location at) {
    if (field.field != Member::kNoField) CodeWriter::assign(member_place(self, field, constructor.at), value, at);
  };
  const ast::Declaration* declared = is_base ? nullptr : field_declaration(owner, field.name);
  const bool is_reference =
      declared != nullptr && declared->type != nullptr &&
      (declared->type->form == ast::TypeForm::Reference || declared->type->form == ast::TypeForm::RvalueReference);
  for (const auto& initializer : constructor.member_initializers) {
    const bool is_this = is_base ? base_is_named(*owner.bases[index], initializer.name, scope)
                                 : initializer.name.last().name == field.name;
    if (!is_this) continue;
    const std::vector<Value> given = arguments(initializer.arguments, scope);
    const ir::Expression* made = nullptr;
    if (is_reference) {
      if (given.size() != 1) throw Rejected{initializer.at, "a reference needs one thing to refer to"};
      QualifiedType wanted;
      wanted.type = table_.reference(field.type->inner, field.type->space, field.type->is_const);
      made = convert(given[0], wanted, initializer.at, "the object of the reference");
    } else if (given.size() == 1 && given[0].braces != nullptr) {
      made = from_braces(field.type, *given[0].braces, scope);
    } else {
      made = construct(field.type, given, initializer.at);
    }
    return assign(made, initializer.at);
  }
  // A union has one member at a time.
  if (owner.in_words && (declared == nullptr || declared->initializer == nullptr)) return;
  if (const ir::Expression* made = field_default(owner, index, constructor.at)) assign(made, constructor.at);
}

}  // namespace kymo::shader
