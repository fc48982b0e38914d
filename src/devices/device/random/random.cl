// The fills in OpenCL C 1.2: one of the texts that fill_source.h puts together. fill.h says how they are launched.
// Never compile them with -cl-mad-enable or -cl-fast-relaxed-math.
//
// Each work item takes every get_global_size(0)-th block, so any number of work items is right. A block's elements go
// out in one store where the output is aligned for that, else one by one; so do those of the last block where it is not
// full.

// `width` is an element's bytes, a constant wherever these are used. Elements of a block, and bytes of its elements:
static inline uint kymo_elements(uint width) { return width == 8u ? 2u : 4u; }
static inline uint kymo_bytes(uint width) { return width * kymo_elements(width); }

static inline uint kymo_word_of(uint4 v, uint i) { return i == 0u ? v.x : i == 1u ? v.y : i == 2u ? v.z : v.w; }

static inline void kymo_store_block(__global uchar* out, ulong block, uint width, uint4 v) {
  if (width == 1u)
    ((__global uint*)out)[block] = (v.x & 255u) | (v.y & 255u) << 8 | (v.z & 255u) << 16 | v.w << 24;
  else if (width == 2u)
    ((__global uint2*)out)[block] = (uint2)((v.x & 65535u) | v.y << 16, (v.z & 65535u) | v.w << 16);
  else
    ((__global uint4*)out)[block] = v;
}

static inline void kymo_store_some(__global uchar* out, ulong block, uint width, uint4 v, uint count) {
  const ulong first = block * kymo_elements(width);
  for (uint i = 0; i < count; ++i) {
    if (width == 1u)
      out[first + i] = (uchar)kymo_word_of(v, i);
    else if (width == 2u)
      ((__global ushort*)out)[first + i] = (ushort)kymo_word_of(v, i);
    else if (width == 4u)
      ((__global uint*)out)[first + i] = kymo_word_of(v, i);
    else
      ((__global ulong*)out)[first + i] = kymo_join(kymo_word_of(v, 2u * i + 1u), kymo_word_of(v, 2u * i));
  }
}

// PREPARE runs first, in every work item; VALUES is made of `words`, a block's four.
#define KYMO_FILL(NAME, WIDTH, PREPARE, VALUES)                                                               \
  __kernel void kymo_random_##NAME(__global uchar* out, ulong count, ulong seed, ulong offset, ulong x, ulong y, \
                                   ulong z) {                                                                 \
    PREPARE                                                                                                   \
    const ulong full = count / kymo_elements(WIDTH);                                                          \
    const ulong stride = get_global_size(0);                                                                  \
    ulong block = get_global_id(0);                                                                           \
    if (((ulong)(uintptr_t)out & (kymo_bytes(WIDTH) - 1u)) == 0) {                                            \
      for (; block < full; block += stride) {                                                                 \
        const uint4 words = kymo_block(seed, offset + block);                                                 \
        kymo_store_block(out, block, WIDTH, VALUES);                                                          \
      }                                                                                                       \
    } else {                                                                                                  \
      for (; block < full; block += stride) {                                                                 \
        const uint4 words = kymo_block(seed, offset + block);                                                 \
        kymo_store_some(out, block, WIDTH, VALUES, kymo_elements(WIDTH));                                     \
      }                                                                                                       \
    }                                                                                                         \
    const uint rest = (uint)(count - full * kymo_elements(WIDTH));                                            \
    if (block == full && rest != 0) {                                                                         \
      const uint4 words = kymo_block(seed, offset + block);                                                   \
      kymo_store_some(out, block, WIDTH, VALUES, rest);                                                       \
    }                                                                                                         \
  }

#if KYMO_FAMILY == KYMO_UNIFORM

KYMO_FILL(uniform_f32, 4u, , kymo_uniform_values(words, x, y))
KYMO_FILL(uniform_f16, 2u, , kymo_half_values(kymo_uniform_values(words, x, y)))
KYMO_FILL(uniform_bf16, 2u, , kymo_bfloat_values(kymo_uniform_values(words, x, y)))

#elif KYMO_FAMILY == KYMO_NORMAL

// The normal's table, in the group's memory: lanes look up different rows, which constant memory serves one by one.
#define KYMO_LOAD_TABLE                                                                                       \
  __local uint4 table[KYMO_NORMAL_ROWS];                                                                      \
  for (uint i = (uint)get_local_id(0); i < KYMO_NORMAL_ROWS; i += (uint)get_local_size(0))                    \
    table[i] = kymo_normal_table[i];                                                                          \
  barrier(CLK_LOCAL_MEM_FENCE);

static inline uint kymo_normal_lookup(uint word, __local const uint4* table, ulong x) {
  const uint key = kymo_normal_key(word);
  return kymo_normal(word, key, table[kymo_normal_row(key)], KYMO_NORMAL_MEAN(x), KYMO_NORMAL_DEVIATION(x));
}
static inline uint4 kymo_normal_values(uint4 words, __local const uint4* table, ulong x) {
  return make_uint4(kymo_normal_lookup(words.x, table, x), kymo_normal_lookup(words.y, table, x),
                    kymo_normal_lookup(words.z, table, x), kymo_normal_lookup(words.w, table, x));
}

KYMO_FILL(normal_f32, 4u, KYMO_LOAD_TABLE, kymo_normal_values(words, table, x))
KYMO_FILL(normal_f16, 2u, KYMO_LOAD_TABLE, kymo_half_values(kymo_normal_values(words, table, x)))
KYMO_FILL(normal_bf16, 2u, KYMO_LOAD_TABLE, kymo_bfloat_values(kymo_normal_values(words, table, x)))

#elif KYMO_FAMILY == KYMO_RANDINT

KYMO_FILL(randint_8, 1u, , kymo_integer_values(words, x, y))
KYMO_FILL(randint_16, 2u, , kymo_integer_values(words, x, y))
KYMO_FILL(randint_32, 4u, , kymo_integer_values(words, x, y))
KYMO_FILL(randint_64, 8u, , kymo_wide_integer_values(words, x, y, z))
KYMO_FILL(randint_f32, 4u, , kymo_float_integer_values(words, x, y))
KYMO_FILL(randint_f16, 2u, , kymo_half_values(kymo_float_integer_values(words, x, y)))
KYMO_FILL(randint_bf16, 2u, , kymo_bfloat_values(kymo_float_integer_values(words, x, y)))

#elif KYMO_FAMILY == KYMO_BERNOULLI

KYMO_FILL(bernoulli_8, 1u, , kymo_bernoulli_values(words, x, y))
KYMO_FILL(bernoulli_16, 2u, , kymo_bernoulli_values(words, x, y))
KYMO_FILL(bernoulli_32, 4u, , kymo_bernoulli_values(words, x, y))
KYMO_FILL(bernoulli_64, 8u, , kymo_wide_bernoulli_values(words, x, y))

#endif
