// OpenCL C 1.2. All buffers are __global, because with shared virtual memory their addresses are plain numbers. Vectors
// are native; vectors of bool are vectors of uchar with 0 or 1.
#pragma once

#include "shader/emit/c_dialect.h"
#include "shader/emit/unroll.h"

namespace kymo::shader {

class OpenClDialect final : public CDialect {
 public:
  OpenClDialect();

  Reserved reserved() const override;
  std::string_view opening() const override { return "#pragma OPENCL FP_CONTRACT OFF\n"; }

  std::string_view scalar(TypeKind kind) const override;
  std::string vector(TypeKind component, uint32_t count) override;
  std::string_view space(Space space) const override;
  std::string forward(std::string_view structure, bool is_defined_next) const override;
  std::string aliasing(std::string_view type, std::string_view alias) const override;
  std::string structure(std::string_view name, uint32_t align) const override;
  std::string aligned(uint32_t align) const override;
  // Not static. If all callers pass the address of one __local variable to a static function, PoCL 3.1 with LLVM 14
  // puts this address into the function, and ignores that every group has its own variable.
  std::string_view function_head(bool has_simd_memory) const override {
    return has_simd_memory ? "KYMO_TOGETHER " : "";
  }
  std::string kernel_head(uint32_t) const override { return "__kernel void "; }
  std::string_view group_head() const override { return "__local "; }
  std::string_view program_head() const override { return "__constant "; }
  std::string aggregate(std::string_view type, std::string_view parts) const override;
  std::string_view zeros() const override { return "0"; }
  // NVIDIA's extension. PoCL would compile for longer, for no gain.
  std::string unrolling(uint16_t wish) const override {
    return "#ifdef cl_nv_pragma_unroll\n" + unroll_pragma(wish) + "#endif\n";
  }
  bool unrolls_without_wish() const override { return false; }
  bool pointers_lose_const() const override { return false; }
  bool needs_simd_memory() const override { return true; }
  bool needs_grid(ir::Intrinsic intrinsic, bool is_kernel) const override;
  bool pieces_need_grid() const override { return false; }
  bool group_memory_by_offset() const override { return false; }
  bool aligns_group_arrays() const override { return false; }
  bool trusts_argument_types() const override { return true; }

  std::string float_of_bits(uint32_t bits) const override;
  std::string float_of_bits_static(uint32_t bits) const override;
  CText convert16(std::string_view function, bool gives_bits, uint32_t count, CText operand) override;
  CText bitcast(std::string_view type, CText bits) override;

  CText unary(ir::Operator op, const Type* type, CText operand) override;
  CText binary(ir::Operator op, const Type* type, const Type* right_type, CText left, CText right) override;
  CText convert(const Type* from, const Type* to, CText operand) override;
  CText splat(const Type* type, CText component) override;
  CText construct(std::string_view type, std::string_view component, bool has_vectors,
                  std::span<const CText> parts) override;
  std::string initializer(std::string_view type, std::string_view components) const override;
  CText component(const Type* type, CText vector, CText index) override;
  CText swizzle(CText vector, std::span<const uint8_t> components) override;
  bool has_swizzles() const override { return true; }
  CText component_place(std::string_view scalar, std::string_view space, CText vector, CText index) override;
  CText loose_load(uint32_t count, std::string_view scalar, std::string_view space, CText place) override;
  std::string loose_store(uint32_t count, std::string_view scalar, std::string_view space, CText place,
                          CText value) override;

  CText position(ir::Intrinsic intrinsic, uint32_t component, const CHidden& hidden) override;
  CText intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) override;

 private:
  std::string vector_of(const Type* type) { return vector(held_as(type->inner), type->count); }
  CText as_bools(uint32_t count, CText minus_ones);  // converts -1 or 0 of any width to 1 or 0
  CText select(const ir::Expression& expression, std::span<CText> operands);
  CText reverse_bits(const Type* type, CText operand);
  CText atomic(const ir::Expression& expression, std::span<CText> operands);
  CText collective(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden);
  CText whole_position(ir::Intrinsic intrinsic, const CHidden& hidden);
};

}  // namespace kymo::shader
