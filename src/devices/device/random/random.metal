// The kernels of the fills. builtin.cc puts random_core.metal before this text. fill.h says how the kernels are launched.
//
// Each thread takes every (threads)-th block, so any number of threads is right. A block's elements are stored at once
// if the output is aligned for that, else one by one; so are those of the last block if it is not full.

template <uint kWidth>  // bytes of an element
struct Output {
  static constant constexpr uint kElements = kWidth == 8 ? 2 : 4;  // of a block
  static constant constexpr uint kBytes = kWidth * kElements;

  // The address is a multiple of kBytes. A cast from an integer tells the translator that it need not check this.
  static void store_block(ulong out, ulong block, uint4 v) {
    if constexpr (kWidth == 1)
      ((device uint*)out)[block] = (v.x & 255u) | (v.y & 255u) << 8 | (v.z & 255u) << 16 | v.w << 24;
    else if constexpr (kWidth == 2)
      ((device uint2*)out)[block] = uint2((v.x & 65535u) | v.y << 16, (v.z & 65535u) | v.w << 16);
    else
      ((device uint4*)out)[block] = v;
  }

  static void store_some(device uchar* out, ulong block, uint4 v, uint count) {
    const ulong first = block * kElements;
    for (uint i = 0; i < count; ++i) {
      if constexpr (kWidth == 1)
        out[first + i] = uchar(v[i]);
      else if constexpr (kWidth == 2)
        ((device ushort*)out)[first + i] = ushort(v[i]);
      else if constexpr (kWidth == 4)
        ((device uint*)out)[first + i] = v[i];
      else
        ((device ulong*)out)[first + i] = i == 0 ? kymo_join(v.y, v.x) : kymo_join(v.w, v.z);
    }
  }
};

template <uint kWidth, typename Values>
void kymo_fill(device uchar* out, ulong count, ulong seed, ulong offset, uint thread_index, uint threads, Values values) {
  using Out = Output<kWidth>;
  const ulong full = count / Out::kElements, address = ulong(out);
  ulong block = thread_index;
  if ((address & (Out::kBytes - 1)) == 0) {
    for (; block < full; block += threads) Out::store_block(address, block, values(kymo_block(seed, offset + block)));
  } else {
    for (; block < full; block += threads)
      Out::store_some(out, block, values(kymo_block(seed, offset + block)), Out::kElements);
  }
  const uint rest = uint(count % Out::kElements);
  if (block == full && rest != 0) Out::store_some(out, block, values(kymo_block(seed, offset + block)), rest);
}

#define KYMO_PARAMETERS                                                                                            \
  device uchar *out [[buffer(0)]], constant ulong &count [[buffer(1)]], constant ulong &seed [[buffer(2)]],        \
      constant ulong &offset [[buffer(3)]], constant ulong &x [[buffer(4)]], constant ulong &y [[buffer(5)]],      \
      constant ulong &z [[buffer(6)]], uint thread_index [[thread_position_in_grid]],                              \
      uint threads [[threads_per_grid]]

// VALUES is made of `words`, a block's four, and of x, y and z.
#define KYMO_FILL(NAME, WIDTH, VALUES)                                                                             \
  [[kernel, max_total_threads_per_threadgroup(512)]] void kymo_random_##NAME(KYMO_PARAMETERS) {                    \
    const ulong a = x, b = y, c = z;                                                                               \
    kymo_fill<WIDTH>(out, count, seed, offset, thread_index, threads, [=](uint4 words) { return VALUES; });        \
  }

KYMO_FILL(uniform_f32, 4, kymo_uniform_values(words, a, b))
KYMO_FILL(uniform_f16, 2, kymo_half_values(kymo_uniform_values(words, a, b)))
KYMO_FILL(uniform_bf16, 2, kymo_bfloat_values(kymo_uniform_values(words, a, b)))

KYMO_FILL(randint_8, 1, kymo_integer_values(words, a, b))
KYMO_FILL(randint_16, 2, kymo_integer_values(words, a, b))
KYMO_FILL(randint_32, 4, kymo_integer_values(words, a, b))
KYMO_FILL(randint_64, 8, kymo_wide_integer_values(words, a, b, c))
KYMO_FILL(randint_f32, 4, kymo_float_integer_values(words, a, b))
KYMO_FILL(randint_f16, 2, kymo_half_values(kymo_float_integer_values(words, a, b)))
KYMO_FILL(randint_bf16, 2, kymo_bfloat_values(kymo_float_integer_values(words, a, b)))

KYMO_FILL(bernoulli_8, 1, kymo_bernoulli_values(words, a, b))
KYMO_FILL(bernoulli_16, 2, kymo_bernoulli_values(words, a, b))
KYMO_FILL(bernoulli_32, 4, kymo_bernoulli_values(words, a, b))
KYMO_FILL(bernoulli_64, 8, kymo_wide_bernoulli_values(words, a, b))

// The normal's table is copied to the group's memory: lanes look up different rows, which constant memory serves one by
// one. It comes in a buffer, because Mesa's driver for the CPU compiles a table in the text for half a minute.
inline uint kymo_normal_lookup(uint word, threadgroup const uint4* table, ulong x) {
  const uint key = kymo_normal_key(word);
  return kymo_normal(word, key, table[kymo_normal_row(key)], kymo_normal_mean(x), kymo_normal_deviation(x));
}
inline uint4 kymo_normal_values(uint4 words, threadgroup const uint4* table, ulong x) {
  return uint4(kymo_normal_lookup(words.x, table, x), kymo_normal_lookup(words.y, table, x),
               kymo_normal_lookup(words.z, table, x), kymo_normal_lookup(words.w, table, x));
}

#define KYMO_NORMAL_FILL(NAME, WIDTH, ROUNDED)                                                                     \
  [[kernel, max_total_threads_per_threadgroup(512)]] void kymo_random_##NAME(                                      \
      KYMO_PARAMETERS, device const uint4* normal_table [[buffer(7)]],                                             \
      uint lane [[thread_position_in_threadgroup]], uint lanes [[threads_per_threadgroup]]) {                      \
    threadgroup uint4 rows[257];                                                                                   \
    for (uint i = lane; i < 257; i += lanes) rows[i] = normal_table[i];                                            \
    threadgroup_barrier(mem_flags::mem_threadgroup);                                                               \
    threadgroup const uint4* table = rows;                                                                         \
    const ulong a = x;                                                                                             \
    kymo_fill<WIDTH>(out, count, seed, offset, thread_index, threads,                                              \
                     [=](uint4 words) { return ROUNDED(kymo_normal_values(words, table, a)); });                   \
  }

KYMO_NORMAL_FILL(normal_f32, 4, )
KYMO_NORMAL_FILL(normal_f16, 2, kymo_half_values)
KYMO_NORMAL_FILL(normal_bf16, 2, kymo_bfloat_values)
