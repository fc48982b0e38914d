// The implementation of print_tree.h: appends to one text. Recursive, with the same depth limit as the parser.
#pragma once

#include <string>
#include <string_view>

#include "shader/parse/ast.h"

namespace kymo::shader::ast {

class Printer {
 public:
  std::string text;

  void name(const Name& name);
  void argument(const TemplateArgument& argument);
  void type(const TypeName& type);
  void expression(const Expression& expression);
  void statement(const Statement& statement);
  void declaration(const Declaration& declaration);

 private:
  void qualifiers(const TypeName& type);
  void operands(const Expression& expression, size_t first);
  void in_quotes(std::string_view content);
  void lambda(const Lambda& lambda);
  void fold(const Expression& expression);
  void cast(const Expression& expression);
  void condition(const Statement& statement);
  void attributes(const Declaration& declaration);
  void template_parameters(const Declaration& declaration);
  void flags(const Declaration& declaration);
  void function(const Declaration& declaration);
  void signature(const Declaration& declaration);  // parameters and result
  void body(const Declaration& declaration);
  void variable(const Declaration& declaration);
  void structure(const Declaration& declaration);
  void enumeration(const Declaration& declaration);
  void declared_name(const Declaration& declaration);

  template <typename List, typename Each>
  void list(const List& items, Each each) {
    bool is_first = true;
    for (const auto& item : items) {
      if (!is_first) text += ", ";
      is_first = false;
      each(item);
    }
  }
};

}  // namespace kymo::shader::ast
