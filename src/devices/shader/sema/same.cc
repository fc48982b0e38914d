#include "shader/sema/same.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace kymo::shader {
namespace {

// The parameters of one template, matched against pieces of another's tree.
class TemplateOrder {
 public:
  explicit TemplateOrder(const std::vector<ast::TemplateParameter>& parameters) : parameters_(parameters) {}

  bool type(const ast::TypeName& pattern, const ast::TypeName& actual) {
    if (is_parameter(pattern)) {
      if (pattern.is_const && !actual.is_const) return false;
      if (pattern.space && pattern.space != actual.space) return false;
      const auto [known, is_new] = types_.try_emplace(pattern.name.last().name, &actual);
      return is_new || same_type(*known->second, actual);
    }
    // A reference makes no difference to the match.
    if (is_reference(pattern) != is_reference(actual))
      return is_reference(pattern) ? type(*pattern.inner, actual) : type(pattern, *actual.inner);
    if (pattern.form != actual.form && !(is_reference(pattern) && is_reference(actual))) return false;
    if (pattern.is_const && !actual.is_const) return false;
    if (pattern.space && pattern.space != actual.space) return false;
    switch (pattern.form) {
      case ast::TypeForm::Named:
        return name(pattern.name, actual.name);
      case ast::TypeForm::Decltype:
        return true;  // nothing is deduced from it
      case ast::TypeForm::Array:
        if ((pattern.expression == nullptr) != (actual.expression == nullptr)) return false;
        if (pattern.expression != nullptr && !value(*pattern.expression, *actual.expression)) return false;
        return type(*pattern.inner, *actual.inner);
      default:
        return pattern.inner != nullptr && actual.inner != nullptr && type(*pattern.inner, *actual.inner);
    }
  }

  bool argument(const ast::TemplateArgument& pattern, const ast::TemplateArgument& actual) {
    if (pattern.type != nullptr && actual.type != nullptr) return type(*pattern.type, *actual.type);
    if (pattern.value != nullptr && is_parameter(*pattern.value)) {
      const auto [known, is_new] = arguments_.try_emplace(pattern.value->name.last().name, &actual);
      return is_new || same_argument(*known->second, actual);
    }
    if (pattern.type != nullptr && is_parameter(*pattern.type)) return true;
    return pattern.value != nullptr && actual.value != nullptr && value(*pattern.value, *actual.value);
  }

  bool arguments(const std::vector<ast::TemplateArgument>& patterns, const std::vector<ast::TemplateArgument>& actual) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (patterns[i].is_expansion) {
        for (size_t k = i; k < actual.size(); ++k)
          if (!TemplateOrder(parameters_).argument(patterns[i], actual[k])) return false;
        return true;
      }
      if (i >= actual.size() || actual[i].is_expansion || !argument(patterns[i], actual[i])) return false;
    }
    return patterns.size() == actual.size();
  }

 private:
  static bool is_reference(const ast::TypeName& type) {
    return type.form == ast::TypeForm::Reference || type.form == ast::TypeForm::RvalueReference;
  }
  bool is_parameter(const ast::Name& name) const {
    if (name.from_global || name.parts.size() != 1 || name.parts[0].has_arguments) return false;
    for (const ast::TemplateParameter& parameter : parameters_)
      if (parameter.name == name.parts[0].name) return true;
    return false;
  }
  bool is_parameter(const ast::TypeName& type) const {
    return type.form == ast::TypeForm::Named && is_parameter(type.name);
  }
  bool is_parameter(const ast::Expression& expression) const {
    return expression.kind == ast::ExpressionKind::Name && is_parameter(expression.name);
  }
  bool value(const ast::Expression& pattern, const ast::Expression& actual) {
    if (is_parameter(pattern)) return argument({nullptr, &pattern, false}, {nullptr, &actual, false});
    return same_expression(pattern, actual);
  }
  bool name(const ast::Name& pattern, const ast::Name& actual) {
    if (pattern.parts.size() > 1) return true;  // T::x: nothing is deduced from it
    if (pattern.last().name != actual.last().name) return pattern.last().name == "enable_if_t";
    return arguments(pattern.last().arguments, actual.last().arguments);
  }

  const std::vector<ast::TemplateParameter>& parameters_;
  std::map<std::string_view, const ast::TypeName*> types_;
  std::map<std::string_view, const ast::TemplateArgument*> arguments_;
};

template <typename Node, typename Same>
bool same_or_none(const Node* a, const Node* b, Same same) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || same(*a, *b));
}

}  // namespace

bool same_argument(const ast::TemplateArgument& a, const ast::TemplateArgument& b) {
  return a.is_expansion == b.is_expansion && same_or_none(a.type, b.type, same_type) &&
         same_or_none(a.value, b.value, same_expression);
}

bool same_name(const ast::Name& a, const ast::Name& b) {
  return a.from_global == b.from_global &&
         std::ranges::equal(a.parts, b.parts, [](const ast::NamePart& x, const ast::NamePart& y) {
           return x.name == y.name && same_or_none(x.conversion, y.conversion, same_type) &&
                  std::ranges::equal(x.arguments, y.arguments, same_argument);
         });
}

bool same_expression(const ast::Expression& a, const ast::Expression& b) {
  return a.kind == b.kind && a.op == b.op && a.text == b.text && a.flag == b.flag && a.fold_left == b.fold_left &&
         a.is_expansion == b.is_expansion && a.lambda == b.lambda && a.name.parts.size() == b.name.parts.size() &&
         (a.name.parts.empty() || same_name(a.name, b.name)) && same_or_none(a.type, b.type, same_type) &&
         std::ranges::equal(a.operands, b.operands,
                            [](const ast::Expression* x, const ast::Expression* y) { return same_expression(*x, *y); });
}

bool same_type(const ast::TypeName& a, const ast::TypeName& b) {
  return a.form == b.form && a.is_const == b.is_const && a.space == b.space && same_name(a.name, b.name) &&
         same_or_none(a.expression, b.expression, same_expression) && same_or_none(a.inner, b.inner, same_type) &&
         std::ranges::equal(a.parameters, b.parameters,
                            [](const ast::TypeName* x, const ast::TypeName* y) { return same_type(*x, *y); });
}

bool same_function(const ast::Declaration& a, const ast::Declaration& b) {
  if (a.is_const != b.is_const || a.this_space != b.this_space || a.is_template != b.is_template) return false;
  const auto same_parameter = [](const ast::TemplateParameter& x, const ast::TemplateParameter& y) {
    return x.is_type == y.is_type && x.is_pack == y.is_pack && x.is_template == y.is_template && x.name == y.name &&
           same_or_none(x.type, y.type, same_type);
  };
  if (!std::ranges::equal(a.template_parameters, b.template_parameters, same_parameter)) return false;
  if (!same_or_none(a.conversion, b.conversion, same_type)) return false;
  // Templates with different result types are different templates: enable_if is often in the result type.
  if (a.is_template && !same_or_none(a.type, b.type, same_type)) return false;
  return std::ranges::equal(a.parameters, b.parameters, [](const ast::Declaration* x, const ast::Declaration* y) {
    return x->is_variadic == y->is_variadic && same_or_none(x->type, y->type, same_type);
  });
}

bool fits_template(const ast::Declaration& a, const ast::Declaration& b, size_t parameters) {
  TemplateOrder order(b.template_parameters);
  for (size_t i = 0; i < parameters; ++i) {
    if (a.parameters.empty() || b.parameters.empty()) return true;
    const ast::Declaration& actual = *a.parameters[std::min(i, a.parameters.size() - 1)];
    const ast::Declaration& pattern = *b.parameters[std::min(i, b.parameters.size() - 1)];
    if (pattern.is_variadic) {
      if (!TemplateOrder(b.template_parameters).type(*pattern.type, *actual.type)) return false;
      continue;
    }
    if (actual.is_variadic || !order.type(*pattern.type, *actual.type)) return false;
  }
  return true;
}

bool fits_specialisation(const ast::Declaration& a, const ast::Declaration& b) {
  return TemplateOrder(b.template_parameters).arguments(b.qualified.last().arguments, a.qualified.last().arguments);
}

}  // namespace kymo::shader
