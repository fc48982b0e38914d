// Declarations.

#include "base/text.h"
#include "shader/test_support/tree_printer.h"

namespace kymo::shader::ast {

void Printer::attributes(const Declaration& declaration) {
  for (const Attribute& attribute : declaration.attributes) {
    text += " [[";
    text += attribute.name;
    if (!attribute.arguments.empty()) {
      text += '(';
      list(attribute.arguments, [this](const Expression* each) { expression(*each); });
      text += ')';
    }
    text += "]]";
  }
}

void Printer::template_parameters(const Declaration& declaration) {
  if (declaration.enclosing_template != nullptr) {
    text += "outer";
    template_parameters(*declaration.enclosing_template);
  }
  if (!declaration.is_template) return;
  text += '<';
  list(declaration.template_parameters, [this](const TemplateParameter& each) {
    if (each.is_template) {
      text += "template";
    } else if (each.is_type) {
      text += "typename";
    } else {
      type(*each.type);
    }
    if (each.is_pack) text += "...";
    if (!each.name.empty()) text += ' ';
    text += each.name;
    if (each.fallback.type != nullptr || each.fallback.value != nullptr) text += " = ";
    argument(each.fallback);
  });
  text += "> ";
}

void Printer::flags(const Declaration& declaration) {
  if (declaration.access == Access::Private) text += "private ";
  if (declaration.access == Access::Protected) text += "protected ";
  if (declaration.is_kernel) text += "kernel ";
  if (!declaration.other_stage.empty()) text += base::format("{} ", declaration.other_stage);
  if (declaration.is_static) text += "static ";
  if (declaration.is_inline) text += "inline ";
  if (declaration.is_constexpr) text += "constexpr ";
  if (declaration.is_explicit) text += "explicit ";
}

void Printer::declared_name(const Declaration& declaration) {
  if (!declaration.qualified.parts.empty()) {
    name(declaration.qualified);
    return;
  }
  text += declaration.name;
  if (declaration.conversion != nullptr) {
    text += ' ';
    type(*declaration.conversion);
  }
}

void Printer::signature(const Declaration& declaration) {
  text += '(';
  list(declaration.parameters, [this](const Declaration* each) { variable(*each); });
  text += ')';
  if (declaration.is_const) text += " const";
  if (declaration.this_space) text += base::format(" {}", space_name(*declaration.this_space));
  if (declaration.type != nullptr) {
    text += " -> ";
    type(*declaration.type);
  }
}

void Printer::body(const Declaration& declaration) {
  bool is_first = true;
  for (const auto& each : declaration.member_initializers) {
    text += is_first ? " : " : ", ";
    is_first = false;
    name(each.name);
    text += '(';
    list(each.arguments, [this](const Expression* argument) { expression(*argument); });
    text += each.is_expansion ? ")..." : ")";
  }
  if (declaration.is_defaulted) text += " = default";
  if (declaration.is_deleted) text += " = delete";
  if (declaration.body == nullptr) return;
  text += ' ';
  statement(*declaration.body);
}

void Printer::function(const Declaration& declaration) {
  text += "fn ";
  declared_name(declaration);
  signature(declaration);
  attributes(declaration);
  body(declaration);
}

void Printer::variable(const Declaration& declaration) {
  declared_name(declaration);
  if (declaration.is_variadic) text += "...";
  text += ": ";
  type(*declaration.type);
  attributes(declaration);
  if (declaration.direct) {
    text += '(';
    list(declaration.direct_arguments, [this](const Expression* each) { expression(*each); });
    text += ')';
  } else if (declaration.initializer != nullptr) {
    text += " = ";
    expression(*declaration.initializer);
  }
}

void Printer::structure(const Declaration& declaration) {
  text += declaration.is_union ? "union" : "struct";
  attributes(declaration);
  if (!declaration.name.empty()) text += ' ';
  declared_name(declaration);
  bool is_first = true;
  for (const TypeName* base : declaration.bases) {
    text += is_first ? " : " : ", ";
    is_first = false;
    type(*base);
  }
  if (!declaration.is_definition) return;
  text += " { ";
  for (const Declaration* member : declaration.members) {
    this->declaration(*member);
    text += "; ";
  }
  text += '}';
}

void Printer::enumeration(const Declaration& declaration) {
  text += declaration.is_scoped ? "enum class" : "enum";
  if (!declaration.name.empty()) text += ' ';
  declared_name(declaration);
  if (declaration.type != nullptr) {
    text += ": ";
    type(*declaration.type);
  }
  if (!declaration.is_definition) return;
  text += " { ";
  list(declaration.enumerators, [this](const Enumerator& each) {
    text += each.name;
    if (each.value == nullptr) return;
    text += " = ";
    expression(*each.value);
  });
  text += " }";
}

void Printer::declaration(const Declaration& declaration) {
  template_parameters(declaration);
  flags(declaration);
  switch (declaration.kind) {
    case DeclarationKind::Namespace:
      text += base::format("namespace {}{}{{ ", declaration.name, declaration.name.empty() ? "" : " ");
      for (const Declaration* member : declaration.members) {
        this->declaration(*member);
        text += "; ";
      }
      text += '}';
      break;
    case DeclarationKind::UsingDirective:
      text += "using namespace ";
      name(declaration.target);
      break;
    case DeclarationKind::Using:
      text += "using ";
      name(declaration.target);
      if (declaration.is_variadic) text += "...";
      break;
    case DeclarationKind::NamespaceAlias:
      text += base::format("namespace {} = ", declaration.name);
      name(declaration.target);
      break;
    case DeclarationKind::Alias:
      text += base::format("type {}", declaration.name);
      attributes(declaration);
      text += " = ";
      type(*declaration.type);
      break;
    case DeclarationKind::Struct:
      structure(declaration);
      break;
    case DeclarationKind::Enum:
      enumeration(declaration);
      break;
    case DeclarationKind::Function:
      function(declaration);
      break;
    case DeclarationKind::Variable:
      variable(declaration);
      break;
    case DeclarationKind::Structured:
      text += '[';
      list(declaration.bindings, [this](std::string_view each) { text += each; });
      text += ']';
      variable(declaration);
      break;
    case DeclarationKind::StaticAssert:
      text += "static_assert(";
      expression(*declaration.initializer);
      if (!declaration.text.empty()) {
        text += ", ";
        in_quotes(declaration.text);
      }
      text += ')';
      break;
    case DeclarationKind::ExplicitInstantiation:
      text += "instantiate ";
      this->declaration(*declaration.inner);
      break;
  }
}

}  // namespace kymo::shader::ast
