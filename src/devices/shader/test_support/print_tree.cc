#include "shader/test_support/print_tree.h"

#include "shader/test_support/tree_printer.h"

namespace kymo::shader::ast {

// ---- Names and types -----------------------------------------------------------------------------------------------

void Printer::name(const Name& name) {
  if (name.from_global) text += "::";
  for (size_t i = 0; i < name.parts.size(); ++i) {
    const NamePart& part = name.parts[i];
    if (i > 0) text += "::";
    text += part.name;
    if (part.conversion != nullptr) {
      text += ' ';
      type(*part.conversion);
    }
    if (!part.has_arguments) continue;
    text += '<';
    list(part.arguments, [this](const TemplateArgument& each) { argument(each); });
    text += '>';
  }
}

void Printer::argument(const TemplateArgument& argument) {
  if (argument.type != nullptr) {
    type(*argument.type);
  } else if (argument.value != nullptr) {
    const bool is_name = argument.value->kind == ExpressionKind::Name;
    if (is_name) text += '(';
    expression(*argument.value);
    if (is_name) text += ')';
  }
  if (argument.is_expansion) text += "...";
}

void Printer::qualifiers(const TypeName& type) {
  if (type.space) {
    text += space_name(*type.space);
    text += ' ';
  }
  if (type.is_const) text += "const ";
}

void Printer::type(const TypeName& type) {
  switch (type.form) {
    case TypeForm::Named:
      qualifiers(type);
      name(type.name);
      break;
    case TypeForm::Decltype:
      qualifiers(type);
      text += "decltype(";
      expression(*type.expression);
      text += ')';
      break;
    case TypeForm::Pointer:
    case TypeForm::Reference:
    case TypeForm::RvalueReference: {
      const bool needs = type.inner->form == TypeForm::Array || type.inner->form == TypeForm::Function;
      if (needs) text += '(';
      this->type(*type.inner);
      if (needs) text += ')';
      text += type.form == TypeForm::Pointer ? "*" : type.form == TypeForm::Reference ? "&" : "&&";
      if (type.space || type.is_const) {
        text += ' ';
        qualifiers(type);
        text.pop_back();
      }
      break;
    }
    case TypeForm::Array: {
      const TypeName* element = &type;
      while (element->form == TypeForm::Array) element = element->inner;
      this->type(*element);
      for (const TypeName* each = &type; each->form == TypeForm::Array; each = each->inner) {
        text += '[';
        if (each->expression != nullptr) expression(*each->expression);
        text += ']';
      }
      break;
    }
    case TypeForm::Function:
      this->type(*type.inner);
      text += '(';
      list(type.parameters, [this](const TypeName* each) { this->type(*each); });
      text += ')';
      break;
  }
  if (type.is_expansion) text += "...";
}

// ---- Entry points --------------------------------------------------------------------------------------------------

std::string print(const Name& name) {
  Printer printer;
  printer.name(name);
  return std::move(printer.text);
}

std::string print(const TypeName& type) {
  Printer printer;
  printer.type(type);
  return std::move(printer.text);
}

std::string print(const Expression& expression) {
  Printer printer;
  printer.expression(expression);
  return std::move(printer.text);
}

std::string print(const Statement& statement) {
  Printer printer;
  printer.statement(statement);
  return std::move(printer.text);
}

std::string print(const Declaration& declaration) {
  Printer printer;
  printer.declaration(declaration);
  return std::move(printer.text);
}

std::string print(const Tree& tree) {
  Printer printer;
  for (const Declaration* declaration : tree.declarations) {
    printer.declaration(*declaration);
    printer.text += '\n';
  }
  return std::move(printer.text);
}

}  // namespace kymo::shader::ast
