// Intrinsics: numbers, positions, barriers.

#include "base/text.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {
namespace {

using ir::Intrinsic;

// GLSL's function for it, of floats and of vectors of them.
std::string_view glsl_native(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::Abs:
      return "abs";
    case Intrinsic::Floor:
      return "floor";
    case Intrinsic::Ceil:
      return "ceil";
    case Intrinsic::Trunc:
      return "trunc";
    case Intrinsic::Rint:
      return "roundEven";
    case Intrinsic::Sqrt:
      return "sqrt";
    case Intrinsic::Exp:
      return "exp";
    case Intrinsic::Exp2:
      return "exp2";
    case Intrinsic::Log:
      return "log";
    case Intrinsic::Log2:
      return "log2";
    case Intrinsic::Sin:
      return "sin";
    case Intrinsic::Cos:
      return "cos";
    case Intrinsic::Tan:
      return "tan";
    case Intrinsic::Asin:
      return "asin";
    case Intrinsic::Acos:
      return "acos";
    case Intrinsic::Atan:
    case Intrinsic::Atan2:
      return "atan";
    case Intrinsic::Sinh:
      return "sinh";
    case Intrinsic::Cosh:
      return "cosh";
    case Intrinsic::Tanh:
      return "tanh";
    case Intrinsic::Asinh:
      return "asinh";
    case Intrinsic::Acosh:
      return "acosh";
    case Intrinsic::Atanh:
      return "atanh";
    case Intrinsic::Pow:
      return "pow";
    case Intrinsic::Min:
      return "min";
    case Intrinsic::Max:
      return "max";
    case Intrinsic::Any:
      return "any";
    case Intrinsic::All:
      return "all";
    default:
      return {};
  }
}

// A function of the prelude, with the same name after "kymo_".
std::string_view glsl_piece(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::Rsqrt:
      return "rsqrt";
    case Intrinsic::Exp10:
      return "exp10";
    case Intrinsic::Log10:
      return "log10";
    case Intrinsic::Fmin:
      return "fmin";
    case Intrinsic::Fmax:
      return "fmax";
    case Intrinsic::Fmod:
      return "fmod";
    case Intrinsic::Copysign:
      return "copysign";
    case Intrinsic::Fma:
      return "fma";
    case Intrinsic::IsNan:
      return "is_nan";
    case Intrinsic::IsInf:
      return "is_inf";
    case Intrinsic::MulHi:
      return "mul_hi";
    default:
      return {};
  }
}

}  // namespace

Text Writer::intrinsic(const ir::Expression& expression) {
  switch (expression.intrinsic) {
    case Intrinsic::PopCount:
    case Intrinsic::CountLeadingZeros:
    case Intrinsic::ReverseBits:
      return integer_math(expression);
    case Intrinsic::Select:
      return select(expression);
    case Intrinsic::GroupBarrier:
    case Intrinsic::SimdBarrier:
    case Intrinsic::Fence:
      return barrier(expression);
    default:
      break;
  }
  if (expression.intrinsic >= Intrinsic::AtomicLoad && expression.intrinsic <= Intrinsic::AtomicMax)
    return atomic(expression);
  if (expression.intrinsic >= Intrinsic::SimdSum && expression.intrinsic <= Intrinsic::GroupAny)
    return simdgroup(expression);
  if (expression.intrinsic >= Intrinsic::GridPosition) return position(expression);
  return math(expression);
}

Text Writer::math(const ir::Expression& expression) {
  std::vector<Text> arguments;
  std::vector<const Type*> types;
  std::string given;
  for (const ir::Expression* part : expression.operands) {
    arguments.push_back(value(*part));
    types.push_back(part->type);
    (given += given.empty() ? "" : ", ") += arguments.back().text;
  }
  const std::string_view native = glsl_native(expression.intrinsic);
  if (!native.empty()) return {base::format("{}({})", native, given)};
  const std::string_view piece = glsl_piece(expression.intrinsic);
  unit_.prelude.use(piece);
  return componentwise(base::format("kymo_{}", piece), expression.type, arguments, types);
}

// Computed with 32 bits, or with two times 32 bits; smaller integers are zero-extended.
Text Writer::integer_math(const ir::Expression& expression) {
  const Type* type = expression.operands[0]->type;
  const uint64_t bits = type->scalar()->size * 8;
  const Text given = value(*expression.operands[0]);
  const std::string& name = unit_.types.name(expression.type);
  if (bits == 64) {
    const std::string_view piece = expression.intrinsic == Intrinsic::PopCount            ? "pop_count"
                                   : expression.intrinsic == Intrinsic::CountLeadingZeros ? "leading_zeros"
                                                                                          : "reverse_bits";
    unit_.prelude.use(piece);
    const std::string function = base::format("kymo_{}", piece);
    if (!type->is_vector()) return {base::format("{}({}(uint64_t({})))", name, function, given.text)};
    const std::string wide = unit_.types.vector_name(TypeKind::ULong, type->count);
    if (unit_.is_new(base::format("each {} {}", function, wide))) {
      std::string parts;
      for (uint32_t i = 0; i < type->count; ++i)
        parts += base::format("{}{}(x.{})", i == 0 ? "" : ", ", function, kComponents[i]);
      unit_.add_function(base::format("{} {}({} x) {{\n  return {}({});\n}}\n", wide, function, wide, wide, parts),
                         nullptr);
    }
    return {base::format("{}({}({}({})))", name, function, wide, given.text)};
  }
  const std::string word = unit_.types.vector_name(TypeKind::UInt, type->components());
  std::string plain = base::format("{}({})", word, given.text);
  if (bits < 32) plain += base::format(" & {}u", (1U << bits) - 1);
  switch (expression.intrinsic) {
    case Intrinsic::PopCount:
      return {base::format("{}(bitCount({}))", name, plain)};
    case Intrinsic::CountLeadingZeros:
      return {base::format("{}({} - findMSB({}))", name, bits - 1, plain)};
    default:
      if (bits == 32) return {base::format("{}(bitfieldReverse({}))", name, plain)};
      return {base::format("{}(bitfieldReverse({}) >> {})", name, plain, 32 - bits)};
  }
}

Text Writer::select(const ir::Expression& expression) {
  const ir::Expression& chosen = *expression.operands[2];
  const Text no = value(*expression.operands[0]), yes = value(*expression.operands[1]), which = value(chosen);
  if (chosen.type->is_vector()) return {base::format("mix({}, {}, {})", no.text, yes.text, which.text)};
  return {base::format("{} ? {} : {}", operand(which, Level::LogicalOr), operand(yes, Level::LogicalOr),
                       operand(no, Level::Conditional)),
          Level::Conditional};
}

Text Writer::position(const ir::Expression& expression) {
  switch (expression.intrinsic) {
    case Intrinsic::GridPosition:
      return {"gl_GlobalInvocationID"};
    case Intrinsic::GroupPosition:
      return {"gl_LocalInvocationID"};
    case Intrinsic::GroupIndex:
      return {"gl_WorkGroupID"};
    case Intrinsic::GroupSize:
      return {"gl_WorkGroupSize"};
    case Intrinsic::GroupCount:
      return {"gl_NumWorkGroups"};
    case Intrinsic::SimdLane:
      return {"gl_LocalInvocationIndex & 31u", Level::And};
    case Intrinsic::SimdIndex:
      return {"gl_LocalInvocationIndex >> 5", Level::Shift};
    default:
      break;
  }
  const uint32_t first = expression.intrinsic == Intrinsic::GridSize ? 0 : 3;
  return {base::format("uvec3(arguments.kymo_grid[{}], arguments.kymo_grid[{}], arguments.kymo_grid[{}])", first,
                       first + 1, first + 2)};
}

Text Writer::barrier(const ir::Expression& expression) {
  const bool is_device = (expression.index & 1) != 0, is_shared = (expression.index & 2) != 0;
  if (is_device) unit_.share_buffers();
  if (expression.intrinsic == Intrinsic::Fence)
    return {is_device && is_shared ? "memoryBarrier()" : is_shared ? "memoryBarrierShared()" : "memoryBarrierBuffer()"};
  // barrier() orders shared memory by itself.
  return {is_device ? "memoryBarrierBuffer(); barrier()" : "barrier()"};
}

}  // namespace kymo::shader::glsl
