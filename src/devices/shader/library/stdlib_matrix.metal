// Matrices that the 32 threads of a simdgroup hold together. Each thread holds two neighbours in a row: with the lane
// as bits abcde, those of row acd, columns 2 * be and 2 * be + 1. This is the order of Apple's devices, and code that
// uses thread_elements() relies on it.
//
// A product adds from column 0 to column 7, with one rounding for each step, in float. For that a thread needs a row of
// the left matrix and two columns of the right one. Other threads have them, and giving them takes most of the time of a
// product. On CUDA each thread therefore holds its row and its columns of every matrix: it reads them from memory with the
// matrix, once for many products, and the compiler removes those that no product uses.

namespace metal {

// How a target with a matrix unit holds matrices of T: 0 if it has none, 1 in the order of Apple's devices, 2 in the
// order of the unit, which is row by row. void stands for matrices of any type. 4: there is none, and threads hold rows
// and columns. 8: it multiplies matrices of all types in float, in the order of Apple's devices.
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

template <typename T, uint Unit> struct kymo_matrix_held {
  vec<T, 2> kymo_elements;
};
template <typename T> struct kymo_matrix_held<T, 4u> {
  vec<T, 2> kymo_elements;
  T kymo_row[8];
  vec<T, 2> kymo_columns[8];
};

template <typename T> vec<T, 2> kymo_matrix_shuffle(vec<T, 2> value, uint lane) {
  if constexpr (sizeof(T) == 2) {
    return as_type<vec<T, 2>>(kymo_shuffle_of_all(as_type<uint>(value), lane));
  } else {
    return kymo_shuffle_of_all(value, lane);
  }
}

template <typename T, int Cols, int Rows = Cols>
struct simdgroup_matrix : kymo_matrix_held<T, kymo_matrix_unit<T>()> {
  static_assert(Cols == 8 && Rows == 8, "a simdgroup_matrix has 8 columns and 8 rows");
  static_assert(is_floating_point_v<T>, "a simdgroup_matrix holds float, half or bfloat");

  simdgroup_matrix() thread = default;
  explicit simdgroup_matrix(T diagonal) thread {
    const uint lane = kymo_lane(), row = kymo_matrix_row(lane), column = 2u * kymo_matrix_pair(lane);
    this->kymo_elements = vec<T, 2>(row == column ? diagonal : T(0), row == column + 1u ? diagonal : T(0));
    if constexpr (kymo_matrix_unit<T>() == 4u) kymo_share();
  }
  // The row and the columns, from the elements of all threads.
  void kymo_share() thread {
    const uint lane = kymo_lane(), row = kymo_matrix_row(lane), pair = kymo_matrix_pair(lane);
    const vec<T, 2> own = this->kymo_elements;
    for (uint k = 0; k < 4u; ++k) {
      const vec<T, 2> given = kymo_matrix_shuffle(own, kymo_matrix_lane(row, k));
      this->kymo_row[2u * k] = given.x;
      this->kymo_row[2u * k + 1u] = given.y;
    }
    for (uint k = 0; k < 8u; ++k) this->kymo_columns[k] = kymo_matrix_shuffle(own, kymo_matrix_lane(k, pair));
  }
  thread vec<T, 2>& thread_elements() thread { return this->kymo_elements; }
  const thread vec<T, 2>& thread_elements() const thread { return this->kymo_elements; }
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <typename T, int Cols, int Rows = Cols>
simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Cols, Rows> filled;
  filled.kymo_elements = vec<T, 2>(value, value);
  if constexpr (kymo_matrix_unit<T>() == 4u) filled.kymo_share();
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

template <typename T, int C, int R, typename From>
void kymo_matrix_read(thread simdgroup_matrix<T, C, R>& to, From from, ulong elements_per_row, ulong2 origin,
                      bool transpose) {
  const ulong2 at = kymo_matrix_places(elements_per_row, origin, transpose);
  to.kymo_elements = vec<T, 2>(from[at.x], from[at.y]);
  if constexpr (kymo_matrix_unit<T>() == 4u) {
    const uint lane = kymo_lane();
    const ulong row = ulong(kymo_matrix_row(lane)), column = 2ul * ulong(kymo_matrix_pair(lane));
    const ulong down = transpose ? 1ul : elements_per_row, right = transpose ? elements_per_row : 1ul;
    const ulong first = origin.y * elements_per_row + origin.x;
    for (uint k = 0; k < 8u; ++k) {
      to.kymo_row[k] = from[first + row * down + ulong(k) * right];
      const ulong pair = first + ulong(k) * down + column * right;
      to.kymo_columns[k] = vec<T, 2>(from[pair], from[pair + right]);
    }
  }
}

template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>& to, const device T* from, ulong elements_per_row = C,
                    ulong2 origin = ulong2(0ul), bool transpose = false) {
  kymo_matrix_read(to, from, elements_per_row, origin, transpose);
}
template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>& to, const constant T* from, ulong elements_per_row = C,
                    ulong2 origin = ulong2(0ul), bool transpose = false) {
  kymo_matrix_read(to, from, elements_per_row, origin, transpose);
}
template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>& to, const threadgroup T* from, ulong elements_per_row = C,
                    ulong2 origin = ulong2(0ul), bool transpose = false) {
  kymo_matrix_read(to, from, elements_per_row, origin, transpose);
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
    const float2 left = float2(kymo_matrix_shuffle(a, kymo_matrix_lane(row, k)));
    const float2 upper = float2(kymo_matrix_shuffle(b, kymo_matrix_lane(2u * k, pair)));
    const float2 lower = float2(kymo_matrix_shuffle(b, kymo_matrix_lane(2u * k + 1u, pair)));
    sum = fma(float2(left.x), upper, sum);
    sum = fma(float2(left.y), lower, sum);
  }
  return sum;
}

template <typename A, typename B>
float2 kymo_matrix_product(simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, float2 sum) {
  constexpr uint unit = is_same_v<A, B> ? kymo_matrix_unit<A>() : kymo_matrix_unit<A>() & kymo_matrix_unit<B>() & 12u;
  if constexpr (unit == 4u) {
    for (uint k = 0; k < 8u; ++k) sum = fma(float2(float(a.kymo_row[k])), float2(b.kymo_columns[k]), sum);
    return sum;
  } else if constexpr (unit == 2u || unit == 8u) {
    return kymo_matrix_multiply<A>(float2(a.kymo_elements), float2(b.kymo_elements), sum);
  } else if constexpr (unit == 1u) {
    const uint lane = kymo_lane(), row = kymo_matrix_row(lane), pair = kymo_matrix_pair(lane);
    const uint from = kymo_matrix_lane(lane >> 2, lane & 3u);
    const float2 product = kymo_matrix_multiply<A>(float2(kymo_matrix_shuffle(a.kymo_elements, from)),
                                                   float2(kymo_matrix_shuffle(b.kymo_elements, from)),
                                                   kymo_matrix_shuffle(sum, from));
    return kymo_matrix_shuffle(product, row * 4u + pair);
  } else {
    return kymo_matrix_product_of_lanes(a.kymo_elements, b.kymo_elements, sum);
  }
}

template <typename D, typename A, typename B, typename C>
void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                                   simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c) {
  d.kymo_elements = vec<D, 2>(kymo_matrix_product(a, b, float2(c.kymo_elements)));
  if constexpr (kymo_matrix_unit<D>() == 4u) d.kymo_share();
}
template <typename D, typename A, typename B>
void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  d.kymo_elements = vec<D, 2>(kymo_matrix_product(a, b, float2(0.0f)));
  if constexpr (kymo_matrix_unit<D>() == 4u) d.kymo_share();
}
template <typename T> simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> product;
  simdgroup_multiply(product, a, b);
  return product;
}

}  // namespace metal
