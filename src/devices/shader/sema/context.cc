#include "shader/sema/context.h"

#include "base/text.h"

namespace kymo::shader {

namespace {

constexpr size_t kMaxInstances = 20'000;

}  // namespace

ir::Builder& Context::build(Location at) {
  builder.at = at;
  return builder;
}

void Context::report(const Rejected& rejected) {
  if (!rejected.text.empty() && !gave_up_) diagnostics.report(rejected);
}

void Context::give_up(Location at, const std::string& text) {
  report({at, text});
  gave_up_ = true;
  throw Rejected{at, ""};
}

void Context::check_instances(Location at) {
  if (instances > kMaxInstances)
    give_up(at, base::format("more than {} instances of templates: their recursion does not end", kMaxInstances));
}

void Context::spend_step(Location at) {
  if (++steps_ > options.max_expressions)
    give_up(at,
            base::format("the kernel expands to more than {} expressions: check its default arguments and templates",
                         options.max_expressions));
}

}  // namespace kymo::shader
