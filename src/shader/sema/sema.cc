#include "shader/sema/sema.h"

#include <utility>

#include "base/text.h"
#include "shader/sema/tables.h"

namespace kymo::shader {

Meaning::Meaning(const ast::Tree& tree, const Options& options, Diagnostics& diagnostics, ir::Module& module,
                 uint32_t user_file)
    : tree_(tree),
      options_(options),
      diagnostics_(diagnostics),
      module_(module),
      types_(module.types),
      tables_(std::make_unique<Tables>()),
      build_(module) {
  init_work();
  tables_->user_file = user_file;
  global_ = &make_scope(Scope::Kind::Namespace, nullptr);
}

Meaning::~Meaning() = default;

void Meaning::spend_step(Location at) {
  if (++tables_->steps > options_.max_expressions)
    throw Rejected{
        at, base::format("the source expands to more than {} expressions: check its default arguments and templates",
                         options_.max_expressions)};
}

void Meaning::lower() {
  declare_all();
  for (const PlacedDeclaration& placed : tables_->asserts) {
    if (diagnostics_.is_full()) return;
    try {
      check_assert(*placed.declaration, *placed.scope);
    } catch (const Rejected& rejected) {
      report(rejected);
    }
  }
  lower_kernels();
  // What no kernel needs is lowered too, for its errors.
  for (const Symbol* symbol : tables_->functions) {
    if (diagnostics_.is_full()) return;
    const ast::Declaration& function = *symbol->declaration;
    if (function.at.file != tables_->user_file || function.is_kernel || function.body == nullptr) continue;
    try {
      need(instance(*symbol, {}, {}, nullptr, function.at), function.at);
    } catch (const Rejected& rejected) {
      report(rejected);
    }
  }
}

void give_meaning(const ast::Tree& tree, const Options& options, Diagnostics& diagnostics, ir::Module& module,
                  uint32_t user_file) {
  Meaning(tree, options, diagnostics, module, user_file).lower();
}

}  // namespace kymo::shader
