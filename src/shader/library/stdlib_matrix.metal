// Matrices that the 32 threads of a simdgroup hold together. Each thread holds two neighbours in a row: with the lane
// as bits abcde, those of row acd, columns 2 * be and 2 * be + 1. This is the order of Apple's devices, and code that
// uses thread_elements() relies on it.
//
// A product adds from column 0 to column 7, with one rounding for each step, in float.

namespace metal {

// How a target with a matrix unit holds matrices of T: 0 if it has none, 1 in the order of Apple's devices, 2 in the
// order of the unit, which is row by row. void stands for matrices of any type.
template <typename T> constexpr uint kymo_matrix_unit();
template <typename T> float2 kymo_matrix_multiply(float2 a, float2 b, float2 sum);

inline uint kymo_matrix_row(uint lane) {
  if constexpr (kymo_matrix_unit<void>() == 2u) {
    return lane >> 2;
  } else {
    return ((lane >> 2) & 4u) | ((lane >> 1) & 3u);
  }
}
inline uint kymo_matrix_pair(uint lane) {
  if constexpr (kymo_matrix_unit<void>() == 2u) {
    return lane & 3u;
  } else {
    return ((lane >> 2) & 2u) | (lane & 1u);
  }
}
inline uint kymo_matrix_lane(uint row, uint pair) {
  if constexpr (kymo_matrix_unit<void>() == 2u) {
    return (row << 2) | pair;
  } else {
    return ((row & 4u) << 2) | ((pair & 2u) << 2) | ((row & 3u) << 1) | (pair & 1u);
  }
}

template <typename T, int Cols, int Rows = Cols>
struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "a simdgroup_matrix has 8 columns and 8 rows");
  static_assert(is_floating_point_v<T>, "a simdgroup_matrix holds float, half or bfloat");
  vec<T, 2> kymo_elements;

  simdgroup_matrix() thread = default;
  explicit simdgroup_matrix(T diagonal) thread {
    const uint lane = kymo_lane(), row = kymo_matrix_row(lane), column = 2u * kymo_matrix_pair(lane);
    kymo_elements = vec<T, 2>(row == column ? diagonal : T(0), row == column + 1u ? diagonal : T(0));
  }
  thread vec<T, 2>& thread_elements() thread { return kymo_elements; }
  const thread vec<T, 2>& thread_elements() const thread { return kymo_elements; }
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <typename T, int Cols, int Rows = Cols>
simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Cols, Rows> filled;
  filled.kymo_elements = vec<T, 2>(value, value);
  return filled;
}
template <typename T, int Cols, int Rows = Cols>
simdgroup_matrix<T, Cols, Rows> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, Cols, Rows>(value);
}

// ---- Memory. `origin` is (column, row); a transposed matrix is read by columns.

inline ulong2 kymo_matrix_places(ulong elements_per_row, ulong2 origin, bool transpose) {
  const uint lane = kymo_lane();
  const ulong row = ulong(kymo_matrix_row(lane)), column = 2ul * ulong(kymo_matrix_pair(lane));
  const ulong first = transpose ? (origin.y + column) * elements_per_row + origin.x + row
                                : (origin.y + row) * elements_per_row + origin.x + column;
  return ulong2(first, first + (transpose ? elements_per_row : 1ul));
}

template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>& to, const device T* from, ulong elements_per_row = C,
                    ulong2 origin = ulong2(0ul), bool transpose = false) {
  const ulong2 at = kymo_matrix_places(elements_per_row, origin, transpose);
  to.kymo_elements = vec<T, 2>(from[at.x], from[at.y]);
}
template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>& to, const constant T* from, ulong elements_per_row = C,
                    ulong2 origin = ulong2(0ul), bool transpose = false) {
  const ulong2 at = kymo_matrix_places(elements_per_row, origin, transpose);
  to.kymo_elements = vec<T, 2>(from[at.x], from[at.y]);
}
template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>& to, const threadgroup T* from, ulong elements_per_row = C,
                    ulong2 origin = ulong2(0ul), bool transpose = false) {
  const ulong2 at = kymo_matrix_places(elements_per_row, origin, transpose);
  to.kymo_elements = vec<T, 2>(from[at.x], from[at.y]);
}
template <typename T, int C, int R>
void simdgroup_store(simdgroup_matrix<T, C, R> from, device T* to, ulong elements_per_row = C,
                     ulong2 origin = ulong2(0ul), bool transpose = false) {
  const ulong2 at = kymo_matrix_places(elements_per_row, origin, transpose);
  to[at.x] = from.kymo_elements.x;
  to[at.y] = from.kymo_elements.y;
}
template <typename T, int C, int R>
void simdgroup_store(simdgroup_matrix<T, C, R> from, threadgroup T* to, ulong elements_per_row = C,
                     ulong2 origin = ulong2(0ul), bool transpose = false) {
  const ulong2 at = kymo_matrix_places(elements_per_row, origin, transpose);
  to[at.x] = from.kymo_elements.x;
  to[at.y] = from.kymo_elements.y;
}

// ---- Products

template <typename A, typename B>
float2 kymo_matrix_product_of_lanes(vec<A, 2> a, vec<B, 2> b, float2 sum) {
  const uint lane = kymo_lane(), row = kymo_matrix_row(lane), pair = kymo_matrix_pair(lane);
  for (uint k = 0; k < 4u; ++k) {
    const float2 left = float2(kymo_shuffle(a, kymo_matrix_lane(row, k)));
    const float2 upper = float2(kymo_shuffle(b, kymo_matrix_lane(2u * k, pair)));
    const float2 lower = float2(kymo_shuffle(b, kymo_matrix_lane(2u * k + 1u, pair)));
    sum = fma(float2(left.x), upper, sum);
    sum = fma(float2(left.y), lower, sum);
  }
  return sum;
}

template <typename A, typename B>
float2 kymo_matrix_product(vec<A, 2> a, vec<B, 2> b, float2 sum) {
  constexpr uint unit = is_same_v<A, B> ? kymo_matrix_unit<A>() : 0u;
  if constexpr (unit == 2u) {
    return kymo_matrix_multiply<A>(float2(a), float2(b), sum);
  } else if constexpr (unit == 1u) {
    const uint lane = kymo_lane(), row = kymo_matrix_row(lane), pair = kymo_matrix_pair(lane);
    const uint from = kymo_matrix_lane(lane >> 2, lane & 3u);
    const float2 product = kymo_matrix_multiply<A>(float2(kymo_shuffle(a, from)), float2(kymo_shuffle(b, from)),
                                                   kymo_shuffle(sum, from));
    return kymo_shuffle(product, row * 4u + pair);
  } else {
    return kymo_matrix_product_of_lanes(a, b, sum);
  }
}

template <typename D, typename A, typename B, typename C>
void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                                   simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c) {
  d.kymo_elements = vec<D, 2>(kymo_matrix_product(a.kymo_elements, b.kymo_elements, float2(c.kymo_elements)));
}
template <typename D, typename A, typename B>
void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  d.kymo_elements = vec<D, 2>(kymo_matrix_product(a.kymo_elements, b.kymo_elements, float2(0.0f)));
}
template <typename T> simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> product;
  simdgroup_multiply(product, a, b);
  return product;
}

}  // namespace metal
