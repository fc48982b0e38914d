#include "shader/preprocess/headers.h"

#include "base/text.h"
#include "shader/embedded.h"

namespace kymo::shader {

namespace {

struct BuiltinHeader {
  std::string_view name;
  const std::string_view* text;
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
    {"simd/simd.h", &embedded::simd_h},
};

// The parts of the standard library, after metal_: their declarations are always available.
constexpr std::string_view kMetalHeaders =
    " array assert atomic command_buffer common compute config cooperative_tensor extended_vector geometric "
    "graphics imageblocks initializer_list integer interpolate limits logging math matrix mesh numeric pack "
    "packed quadgroup raytracing relational simdgroup simdgroup_matrix stdlib tensor tessellation texture "
    "type_traits types uniform utility visible_function_table ";

}  // namespace

std::optional<std::string_view> builtin_header(std::string_view name) {
  for (const BuiltinHeader& header : kBuiltinHeaders)
    if (header.name == name) return *header.text;
  constexpr std::string_view kPrefix = "metal_";
  const bool is_part = name.starts_with(kPrefix) &&
                       kMetalHeaders.find(base::format(" {} ", name.substr(kPrefix.size()))) != std::string_view::npos;
  return is_part ? std::optional<std::string_view>("") : std::nullopt;
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
