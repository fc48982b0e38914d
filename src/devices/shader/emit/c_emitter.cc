#include "shader/emit/c_emitter.h"

#include "base/text.h"
#include "shader/emit/c_function.h"
#include "shader/emit/c_literals.h"
#include "shader/emit/reflect.h"
#include "shader/emit/walk.h"
#include "shader/ir/uses.h"

namespace kymo::shader {
namespace {

class CModuleWriter {
 public:
  CModuleWriter(const ir::Module& module, CDialect& dialect)
      : source_(module), dialect_(dialect), names_(dialect.reserved()), types_(dialect, names_) {}

  Emitted write() {
    const std::vector<const ir::Function*> functions = ir::Uses(source_).reachable_from_kernels();
    if (functions.empty()) return {};
    module_.functions = name_functions(functions, names_);
    for (const ir::Function* function : functions) module_.needs[function] = needs_of(*function);
    if (multiplies_matrices_) dialect_.prelude.use("simd_matrix_memory");
    if (uses_simd_memory_) dialect_.prelude.use("simd_memory");
    if (reinterprets_) types_.let_pointers_alias();
    if (types_.is_thread_exact()) module_.loose.insert(loose_in_thread_.begin(), loose_in_thread_.end());
    const std::string constants = write_constants();
    std::string code;
    Emitted emitted;
    for (const ir::Function* function : functions) {
      if (!code.empty()) code += '\n';
      code += CFunction(module_, *function).write();
      if (function->is_kernel) emitted.kernels.push_back(describe(*function));
    }
    const std::string types = types_.take_text();
    emitted.text = dialect_.opening();
    for (const std::string_view part : {std::string_view(dialect_.prelude.text()), std::string_view(types),
                                        std::string_view(constants), std::string_view(code)})
      if (!part.empty()) (emitted.text += '\n') += part;
    return emitted;
  }

 private:
  void look_at_cast(const ir::Expression& cast) {
    const Type *from = cast.operands[0]->type, *to = cast.type;
    module_.reads_addresses |= from->is_pointer() && from->space == Space::Device && !to->is_pointer();
    if (!from->is_pointer() || !to->is_pointer()) return;
    if (to->inner == from->inner) return;
    reinterprets_ = true;
    const bool is_exact = types_.is_same(to->inner) && types_.is_same(from->inner);
    if (to->space == Space::Thread && !is_exact) types_.keep_thread_memory_exact();
    if (to->inner->align <= from->inner->align) return;
    module_.casts_group_memory |= to->space == Space::Threadgroup;
    (to->space == Space::Thread ? loose_in_thread_ : module_.loose).insert(to->inner);
  }

  // Of a function whose callees are finished.
  CNeeds needs_of(const ir::Function& function) {
    CNeeds needs;
    const auto see = [&](const ir::Expression& expression) {
      if (expression.kind == ir::ExpressionKind::Call) {
        const CNeeds callee = module_.needs[expression.function];
        needs.simd |= callee.simd;
        needs.grid |= callee.grid;
      } else if (expression.kind == ir::ExpressionKind::Intrinsic) {
        const ir::Intrinsic intrinsic = expression.intrinsic;
        needs.simd |= intrinsic >= ir::Intrinsic::SimdSum && intrinsic <= ir::Intrinsic::GroupAny;
        needs.grid |= dialect_.needs_grid(intrinsic, function.is_kernel);
        multiplies_matrices_ |= intrinsic == ir::Intrinsic::SimdMatrix && dialect_.needs_simd_memory();
      } else if (expression.kind == ir::ExpressionKind::PointerCast) {
        look_at_cast(expression);
      }
    };
    walk_block(function.body, Overloaded{[](const ir::Statement&) {}, see});
    if (function.is_kernel && dialect_.pieces_need_grid()) needs.grid |= reflect(source_, function).uses_simdgroups;
    needs.simd &= dialect_.needs_simd_memory();
    uses_simd_memory_ |= needs.simd;
    if (needs.grid) dialect_.prelude.use("grid");
    return needs;
  }

  std::string write_constants() {
    std::string text;
    for (const ir::Variable* constant : source_.constants) {
      const std::string& name = module_.constants[constant] = names_.take_outermost(constant->name);
      const std::string declared = types_.declaration(Form::Memory, constant->type, name);
      const std::string value = c_initializer(dialect_, types_, *constant->value);
      text += base::format("{}{} = {};\n", dialect_.program_head(), declared, value);
    }
    return text;
  }

  Kernel describe(const ir::Function& function) {
    Kernel kernel = reflect(source_, function);
    kernel.symbol = module_.functions.at(&function);
    kernel.takes_grid = module_.needs.at(&function).grid;
    return kernel;
  }

  const ir::Module& source_;
  bool reinterprets_ = false;  // the same bytes may be numbers of several types
  bool uses_simd_memory_ = false, multiplies_matrices_ = false;
  CDialect& dialect_;
  Names names_;
  CTypes types_;
  CModule module_{dialect_, names_, types_};
  std::unordered_set<const Type*> loose_in_thread_;  // see CModule::loose
};

}  // namespace

Emitted emit_c(const ir::Module& module, CDialect& dialect) { return CModuleWriter(module, dialect).write(); }

}  // namespace kymo::shader
