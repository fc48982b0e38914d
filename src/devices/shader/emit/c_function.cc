#include "shader/emit/c_function.h"

#include "base/text.h"
#include "shader/emit/walk.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kGroupAlignment = 16;  // of the widest vectors that memory is used as

}  // namespace

CFunction::CFunction(CModule& module, const ir::Function& function)
    : module_(module), dialect_(module.dialect), types_(module.types), names_(module.names), function_(function) {
  const CNeeds needs = module.needs[&function];
  if (needs.simd) hidden_.simd = function.is_kernel ? "&kymo_simd" : "kymo_simd";
  if (needs.grid) hidden_.grid = "kymo_grid";
}

std::string& CFunction::name(const ir::Variable& variable) {
  std::string& chosen = variables_[&variable];
  if (chosen.empty()) chosen = names_.take(variable.name);
  return chosen;
}

std::string CFunction::write() {
  names_.enter();
  const std::string& symbol = module_.functions.at(&function_);
  if (function_.is_kernel)
    out_ = base::format("{}{}({}) {{\n", dialect_.kernel_head(function_.max_threads), symbol, kernel_parameters());
  else
    out_ = base::format("{}{} {}({}) {{\n", dialect_.function_head(!hidden_.simd.empty()),
                        types_.value(function_.result), symbol, parameters());
  {
    const Inside inside(*this);
    if (function_.is_kernel) kernel_opening();
    for (const auto& [parameter, given] : kept_parameters_)
      line(base::format("{}{} {} = {};", aligned(Form::Memory), types_.spelled(Form::Memory, parameter->type),
                        name(*parameter), types_.store(parameter->type, {given}).text));
    statements(function_.body);
  }
  names_.leave();
  return std::move(out_) + "}\n";
}

std::string CFunction::parameters() {
  std::string list;
  const auto add = [&](std::string_view one) { (list += list.empty() ? "" : ", ") += one; };
  if (!hidden_.simd.empty()) add(base::format("{}kymo_simd_memory* kymo_simd", dialect_.space(Space::Threadgroup)));
  if (!hidden_.grid.empty()) add("kymo_grid_type kymo_grid");
  for (const ir::Variable* parameter : function_.parameters) {
    std::string given = name(*parameter);
    if (types_.form_of(*parameter) == Form::Memory) {
      given = names_.take(given + "_in");
      kept_parameters_.emplace_back(parameter, given);
    }
    add(types_.value(parameter->type) + " " + given);
  }
  return list.empty() ? "void" : list;
}

std::string CFunction::kernel_parameters() {
  std::string list;
  const auto add = [&](std::string_view one) { (list += list.empty() ? "" : ", ") += one; };
  for (const ir::Binding& binding : function_.bindings) {
    const Type* type = binding.variable->type;
    const std::string& wanted = name(*binding.variable);
    if (binding.kind == ir::BindingKind::Threadgroup && dialect_.group_memory_by_offset())
      add(base::format("{} {}", dialect_.scalar(TypeKind::UInt),
                       given_[binding.variable] = names_.take(wanted + "_offset")));
    else if (is_cast_argument(binding))
      add(base::format("{}{}* {}", dialect_.space(Space::Threadgroup), dialect_.vector(TypeKind::Float, 4),
                       given_[binding.variable] = names_.take(wanted + "_in")));
    else if (is_loose_argument(binding))
      add(base::format("{}{}* {}", dialect_.space(type->space), dialect_.scalar(TypeKind::UChar),
                       given_[binding.variable] = names_.take(wanted + "_in")));
    else if (binding.kind == ir::BindingKind::Value)
      add(types_.inline_value(type) + " " + (given_[binding.variable] = names_.take(wanted + "_in")));
    else
      add(types_.value(type) + " " + wanted);
  }
  if (!hidden_.grid.empty()) add("kymo_grid_type kymo_grid");
  return list.empty() ? "void" : list;
}

// Drivers align the memory of an argument for its type, which must then be the widest that it is used as.
bool CFunction::is_cast_argument(const ir::Binding& binding) const {
  return binding.kind == ir::BindingKind::Threadgroup && module_.casts_group_memory;
}

// A compiler may compute the lowest bits of an address from the type of the argument. A tensor of 8 or 16 bits that is
// passed to be changed by words may begin inside of a word.
bool CFunction::is_loose_argument(const ir::Binding& binding) const {
  return binding.kind == ir::BindingKind::Buffer && module_.reads_addresses && dialect_.trusts_argument_types() &&
         binding.variable->type->inner->align > 1;
}

std::string CFunction::aligned(Form form) const {
  return form == Form::Memory ? dialect_.aligned(kGroupAlignment) : "";
}

void CFunction::kernel_opening() {
  if (!hidden_.simd.empty()) line(base::format("{}kymo_simd_memory kymo_simd;", dialect_.group_head()));
  declare_group_memory(function_.body);
  for (const ir::Binding& binding : function_.bindings) {
    const Type* type = binding.variable->type;
    const std::string& wanted = name(*binding.variable);
    if (binding.kind == ir::BindingKind::Threadgroup && dialect_.group_memory_by_offset()) {
      dialect_.prelude.use("group_memory");
      // The runtime rounds the offsets. The mask only tells the compiler, which then combines accesses to neighbours.
      line(base::format("{0} {1} = ({0})(kymo_group_memory + ({2} & ~{3}u));", types_.value(type), wanted,
                        given_.at(binding.variable), kGroupAlignment - 1));
    } else if (is_cast_argument(binding) || is_loose_argument(binding)) {
      line(base::format("{0} {1} = ({0}){2};", types_.value(type), wanted, given_.at(binding.variable)));
    } else if (binding.kind == ir::BindingKind::Value) {
      const std::string& given = given_.at(binding.variable);
      const std::string pointer =
          base::format("{}{}*", dialect_.space(Space::Device), types_.spelled(Form::Memory, type));
      CText there = types_.load(type, c_prefix("*", c_cast(pointer, {given + ".address"})));
      CText here = types_.load(type, {given + ".value"});
      CText taken{base::format("{}.address != 0 ? {} : {}", given, std::move(there).in(Binding::LogicalOr),
                               std::move(here).in(Binding::LogicalOr)),
                  Binding::Conditional};
      const Form form = types_.form_of(*binding.variable);
      if (form == Form::Memory) taken = types_.store(type, std::move(taken));
      line(base::format("{}{} {} = {};", aligned(form), types_.spelled(form, type), wanted, taken.text));
    }
  }
}

// Wherever they are declared, variables of the group are the kernel's.
void CFunction::declare_group_memory(const ir::Block& block) {
  walk_block(block, Overloaded{[&](const ir::Statement& statement) {
                                 if (statement.kind != ir::StatementKind::Declare) return;
                                 const ir::Variable& variable = *statement.variable;
                                 if (variable.space != Space::Threadgroup) return;
                                 const bool is_array = variable.type->is_array();
                                 if (is_array) plain_arrays_.insert(&variable);
                                 const bool is_aligned =
                                     module_.casts_group_memory || (is_array && dialect_.aligns_group_arrays());
                                 line(std::string(dialect_.group_head()) +
                                      (is_aligned ? dialect_.aligned(kGroupAlignment) : "") +
                                      types_.declaration(Form::Memory, variable.type, name(variable)) + ";");
                               },
                               [](const ir::Expression&) {}});
}

}  // namespace kymo::shader
