#include "shader/ir/predicate.h"

#include <unordered_map>
#include <unordered_set>

#include "shader/ir/clone.h"
#include "shader/ir/predicate_flow.h"
#include "shader/ir/split.h"
#include "shader/ir/uniform.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

using FunctionSet = std::unordered_set<const Function*>;

bool predicate_has(const Function& function, const std::unordered_set<const Expression*>& some) {
  bool found = false;
  if (!some.empty()) for_each_expression(function.body, [&](const Expression& e) { found |= some.contains(&e); });
  return found;
}

// Every function that could need a variant has one. Of the two, those without callers are removed.
void predicate_drop_unused(Module& module, const FunctionSet& candidates) {
  FunctionSet called;
  std::vector<Function*> kept;
  for (auto at = module.functions.rbegin(); at != module.functions.rend(); ++at) {
    Function* function = *at;
    if (!function->is_kernel && candidates.contains(function) && !called.contains(function)) continue;
    kept.push_back(function);
    for_each_expression(function->body, [&](const Expression& e) {
      if (e.kind == ExpressionKind::Call) called.insert(e.function);
    });
  }
  module.functions.assign(kept.rbegin(), kept.rend());
}

// Those that not all threads of a group call together, perhaps.
FunctionSet predicate_called_apart(const Module& module, const FunctionSet& simd, const Uniformity& certain,
                                   const Uniformity& guess) {
  FunctionSet found;
  for (auto at = module.functions.rbegin(); at != module.functions.rend(); ++at) {
    for_each_expression((*at)->body, [&](const Expression& e) {
      if (e.kind != ExpressionKind::Call) return;
      const auto& apart = simd.contains(e.function) ? certain.collectives_apart() : guess.barriers_apart();
      if (found.contains(*at) || apart.contains(&e)) found.insert(e.function);
    });
  }
  return found;
}

}  // namespace

void make_collectives_uniform(Module& module, const CollectiveRules& rules) {
  FunctionSet together, simd, barriers;
  {
    const Uses uses(module);
    for (const Function* function : module.functions) {
      const FunctionUses& used = uses.of(*function);
      if (used.has_simd_collectives()) simd.insert(function);
      if (used.has_barriers()) barriers.insert(function);
      if (used.has_simd_collectives() || used.has_barriers()) together.insert(function);
    }
  }
  if (together.empty()) return;
  // Whether a barrier is missed is a guess, as for the warning: memory that never changes must not make code slower.
  constexpr auto kStays = Uniformity::ConstMemory::Stays;
  if (rules.may_be_in_branches && simd.empty() && Uniformity(module, kStays).barriers_apart().empty()) return;
  for (Function* function : module.functions)
    if (together.contains(function)) split_collectives(module, *function, together);

  const Uniformity certain(module), guess(module, kStays);
  const FunctionSet called_apart = predicate_called_apart(module, simd, certain, guess);
  const Predicator::Collectives collectives{together, simd, barriers, called_apart, guess.barriers_apart()};
  Predicator::Variants variants;
  FunctionSet candidates;
  std::vector<Function*> functions;
  const auto predicator = [&] { return Predicator(module, rules, {certain, guess}, collectives, variants); };
  for (Function* function : module.functions) {
    if (together.contains(function) && !function->is_kernel) {
      Function& variant = clone_function(module, *function, function->name);
      predicator().rewrite_variant(variant, *function);
      variants[function] = &variant;
      candidates.insert({function, &variant});
      functions.push_back(&variant);
    }
    const bool is_rewritten = !rules.may_be_in_branches
                                  ? together.contains(function)
                                  : simd.contains(function) || predicate_has(*function, guess.barriers_apart());
    if (is_rewritten) predicator().rewrite(*function);
    functions.push_back(function);
  }
  module.functions = std::move(functions);
  predicate_drop_unused(module, candidates);
}

}  // namespace kymo::shader::ir
