#include "shader/warnings.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "shader/ir/uniform.h"
#include "shader/ir/uses.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kMaxGroupMemory = 32 << 10;  // Metal's own limit

// Those that the translator uses, and those that change no result.
bool is_known_attribute(std::string_view name) {
  constexpr std::string_view kKnown =
      " alignas always_inline buffer clang::always_inline clang::noinline deprecated fallthrough flatten "
      "function_constant gnu::always_inline gnu::noinline gnu::unused host_name id kernel likely "
      "max_total_threads_per_threadgroup maybe_unused nodiscard noinline unlikely unroll unused visible ";
  const size_t begin = std::min(name.find_first_not_of('_'), name.size());
  const size_t end = name.find_last_not_of('_') + 1;
  const std::string_view plain = begin < end ? name.substr(begin, end - begin) : name;
  return kKnown.find(base::format(" {} ", plain)) != std::string_view::npos;
}

void look_at_attributes(const ast::Declaration& declaration, uint32_t user_file, Diagnostics& diagnostics) {
  if (declaration.at.file >= user_file) {
    for (const ast::Attribute& attribute : declaration.attributes) {
      if (!is_known_attribute(attribute.name))
        diagnostics.warning(attribute.at, base::format("the attribute [[{}]] is ignored", attribute.name));
    }
  }
  // Those of parameters are checked when the kernel is lowered.
  for (const ast::Declaration* member : declaration.members) look_at_attributes(*member, user_file, diagnostics);
}

}  // namespace

void warn_about_attributes(const ast::Tree& tree, uint32_t user_file, Diagnostics& diagnostics) {
  for (const ast::Declaration* declaration : tree.declarations) {
    if (declaration->at.file < user_file && declaration->kind == ast::DeclarationKind::Namespace) continue;
    look_at_attributes(*declaration, user_file, diagnostics);
  }
}

void warn_about_barriers(const ir::Module& module, Diagnostics& diagnostics) {
  const ir::Uses uses(module);
  const bool has_barriers = std::ranges::any_of(
      module.functions, [&](const ir::Function* function) { return uses.of(*function).has_barriers(); });
  if (!has_barriers) return;
  const ir::Uniformity uniformity(module, uses, ir::Uniformity::ConstMemory::Stays);
  const auto& apart = uniformity.barriers_apart();
  std::vector<const ir::Expression*> barriers(apart.begin(), apart.end());
  const auto key = [](const ir::Expression* e) { return std::tuple(e->at.file, e->at.line, e->at.column); };
  std::ranges::sort(barriers, {}, key);
  const auto is_same = [&](const ir::Expression* a, const ir::Expression* b) { return key(a) == key(b); };
  barriers.erase(std::unique(barriers.begin(), barriers.end(), is_same), barriers.end());
  for (const ir::Expression* each : barriers) {
    const bool is_call = each->kind == ir::ExpressionKind::Call;
    diagnostics.warning(each->at,
                        base::format("some threads of the group may not reach {}: move {} out of the branch or loop "
                                     "whose condition differs between threads, and return only after it",
                                     is_call ? base::format("the barrier in \"{}\"", each->function->name)
                                             : std::string("this barrier"),
                                     is_call ? "the call" : "it"));
  }
}

void warn_about_group_memory(const ir::Module& module, const std::vector<Kernel>& kernels, Diagnostics& diagnostics) {
  for (const Kernel& kernel : kernels) {
    if (kernel.group_memory <= kMaxGroupMemory) continue;
    Location at;
    for (const ir::Function* function : module.kernels())
      if (function->host_name == kernel.name) at = function->at;
    diagnostics.warning(at,
                        base::format("the kernel \"{}\" declares {} bytes of threadgroup memory: Metal allows {}, and "
                                     "it cannot be launched on devices that have less",
                                     kernel.name, kernel.group_memory, kMaxGroupMemory));
  }
}

}  // namespace kymo::shader
