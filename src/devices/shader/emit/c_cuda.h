// CUDA C++ for NVRTC, without any header. Vectors are the prelude's kymo_vec<T, N>; a simdgroup is a warp.
#pragma once

#include "shader/emit/c_dialect.h"
#include "shader/emit/unroll.h"

namespace kymo::shader {

class CudaDialect final : public CDialect {
 public:
  CudaDialect();

  Reserved reserved() const override;
  std::string_view opening() const override { return "// For NVRTC with --fmad=false.\n"; }

  std::string_view scalar(TypeKind kind) const override;
  std::string vector(TypeKind component, uint32_t count) override;
  std::string_view space(Space) const override { return ""; }
  std::string forward(std::string_view structure, bool is_defined_next) const override;
  std::string aliasing(std::string_view, std::string_view) const override { return ""; }
  std::string structure(std::string_view name, uint32_t align) const override;
  std::string aligned(uint32_t align) const override;
  std::string_view function_head(bool) const override { return "static __device__ "; }
  std::string kernel_head(uint32_t max_threads) const override;
  std::string_view group_head() const override { return "__shared__ "; }
  std::string_view program_head() const override { return "static __device__ const "; }
  std::string aggregate(std::string_view type, std::string_view parts) const override;
  std::string_view zeros() const override { return ""; }
  std::string unrolling(uint16_t wish) const override { return unroll_pragma(wish); }
  bool unrolls_without_wish() const override { return true; }
  bool pointers_lose_const() const override { return true; }
  bool needs_simd_memory() const override { return false; }
  bool needs_grid(ir::Intrinsic intrinsic, bool is_kernel) const override;
  bool pieces_need_grid() const override { return true; }
  bool group_memory_by_offset() const override { return true; }
  bool aligns_group_arrays() const override { return true; }
  bool trusts_argument_types() const override { return false; }

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
  bool has_swizzles() const override { return false; }
  CText component_place(std::string_view scalar, std::string_view space, CText vector, CText index) override;
  CText loose_load(uint32_t count, std::string_view scalar, std::string_view space, CText place) override;
  std::string loose_store(uint32_t count, std::string_view scalar, std::string_view space, CText place,
                          CText value) override;

  CText position(ir::Intrinsic intrinsic, uint32_t component, const CHidden& hidden) override;
  CText intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) override;

 private:
  CText function(const ir::Expression& expression, std::span<CText> operands);
  CText atomic(const ir::Expression& expression, std::span<CText> operands);
  CText collective(const ir::Expression& expression, std::span<CText> operands);
  CText whole_position(ir::Intrinsic intrinsic, const CHidden& hidden);
};

}  // namespace kymo::shader
