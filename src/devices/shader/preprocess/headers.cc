#include "shader/preprocess/headers.h"

#include "shader/embedded.h"

namespace kymo::shader {

namespace {

struct BuiltinHeader {
  std::string_view name;
  const std::string_view* text = nullptr;  // none: its declarations are always available
};

constexpr BuiltinHeader kBuiltinHeaders[] = {
    {"c10/metal/atomic.h", &embedded::atomic_h},
    {"c10/metal/bessel.h", &embedded::bessel_h},
    {"c10/metal/common.h", &embedded::common_h},
    {"c10/metal/elements.h", &embedded::elements_h},
    {"c10/metal/error.h", &embedded::error_h},
    {"c10/metal/expm1f.h", &embedded::expm1f_h},
    {"c10/metal/gamma.h", &embedded::gamma_h},
    {"c10/metal/igamma.h", &embedded::igamma_h},
    {"c10/metal/indexing.h", &embedded::indexing_h},
    {"c10/metal/polynomials.h", &embedded::polynomials_h},
    {"c10/metal/random.h", &embedded::random_h},
    {"c10/metal/reduction_utils.h", &embedded::reduction_utils_h},
    {"c10/metal/special_math.h", &embedded::special_math_h},
    {"c10/metal/utils.h", &embedded::utils_h},
    {"metal_array"},
    {"metal_assert"},
    {"metal_atomic"},
    {"metal_command_buffer"},
    {"metal_common"},
    {"metal_compute"},
    {"metal_config"},
    {"metal_cooperative_tensor"},
    {"metal_extended_vector"},
    {"metal_geometric"},
    {"metal_graphics"},
    {"metal_imageblocks"},
    {"metal_initializer_list"},
    {"metal_integer"},
    {"metal_interpolate"},
    {"metal_limits"},
    {"metal_logging"},
    {"metal_math"},
    {"metal_matrix"},
    {"metal_mesh"},
    {"metal_numeric"},
    {"metal_pack"},
    {"metal_packed"},
    {"metal_quadgroup"},
    {"metal_raytracing"},
    {"metal_relational"},
    {"metal_simdgroup"},
    {"metal_simdgroup_matrix"},
    {"metal_stdlib"},
    {"metal_tensor"},
    {"metal_tessellation"},
    {"metal_texture"},
    {"metal_type_traits"},
    {"metal_types"},
    {"metal_uniform"},
    {"metal_utility"},
    {"metal_visible_function_table"},
    {"simd/simd.h", &embedded::simd_h},
};

}  // namespace

std::optional<std::string_view> builtin_header(std::string_view name) {
  for (const BuiltinHeader& header : kBuiltinHeaders) {
    if (header.name == name) return header.text == nullptr ? std::string_view() : *header.text;
  }
  return std::nullopt;
}

std::vector<std::string_view> builtin_header_names() {
  std::vector<std::string_view> names;
  for (const BuiltinHeader& header : kBuiltinHeaders) names.push_back(header.name);
  return names;
}

std::vector<std::string_view> standard_library_texts() {
  return {embedded::stdlib_types_metal,   embedded::stdlib_traits_metal,       embedded::stdlib_float_metal,
          embedded::stdlib_math_metal,    embedded::stdlib_trigonometry_metal, embedded::stdlib_vector_metal,
          embedded::stdlib_packing_metal, embedded::stdlib_atomic_metal,       embedded::stdlib_simd_metal,
          embedded::stdlib_matrix_metal,  embedded::stdlib_names_metal,        embedded::stdlib_sampler_metal,
          embedded::stdlib_texture_metal};
}

}  // namespace kymo::shader
