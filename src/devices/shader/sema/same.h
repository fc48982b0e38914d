// Whether two parts of a tree are equivalent: to find the definition for an earlier declaration, and to order
// templates.
#pragma once

#include "shader/parse/ast.h"

namespace kymo::shader {

bool same_type(const ast::TypeName& a, const ast::TypeName& b);
bool same_expression(const ast::Expression& a, const ast::Expression& b);
bool same_name(const ast::Name& a, const ast::Name& b);
bool same_argument(const ast::TemplateArgument& a, const ast::TemplateArgument& b);

// Two declarations of one function: parameters, template parameters, const and address space of `this`.
bool same_function(const ast::Declaration& a, const ast::Declaration& b);

// Whether everything that fits `a` also fits `b`: then `a` is at least as specialised. Compares their parameters; for
// specialisations the arguments that they are written with.
bool fits_template(const ast::Declaration& a, const ast::Declaration& b, size_t parameters);
bool fits_specialisation(const ast::Declaration& a, const ast::Declaration& b);

}  // namespace kymo::shader
