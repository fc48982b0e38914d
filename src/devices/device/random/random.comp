// The fills in GLSL 4.50 for Vulkan 1.2: one of the texts that fill_source.h puts together. fill.h says how they are
// launched. A module has one of the functions below as its entry point, and its group size as a specialization
// constant. Needs bufferDeviceAddress, scalarBlockLayout and shaderInt64; elements of 1 or 2 bytes also need
// storageBuffer8BitAccess or storageBuffer16BitAccess, for what does not fill a word.
//
// Each invocation takes every (invocations)-th block, so any number of groups is right. A block's elements go out in
// one store where the output is aligned for that, else one by one; so do those of the last block where it is not full.

#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar, buffer_reference_align = 1) writeonly buffer Bytes1 { uint8_t data; };
layout(buffer_reference, scalar, buffer_reference_align = 2) writeonly buffer Bytes2 { uint16_t data; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Bytes4 { uint data; };
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer Bytes8 { uvec2 data; };
layout(buffer_reference, scalar, buffer_reference_align = 16) writeonly buffer Bytes16 { uvec4 data; };

layout(push_constant, scalar) uniform Arguments {
  Bytes4 target;
  uint64_t count, seed, offset, x, y, z;
};

// ---- Stores: of a block's elements of 1, 2, 4, 8 bytes each --------------------------------------------------------

void store_1(uint64_t at, uvec4 v) {
  Bytes4(at).data = (v.x & 255u) | (v.y & 255u) << 8 | (v.z & 255u) << 16 | v.w << 24;
}
void store_2(uint64_t at, uvec4 v) { Bytes8(at).data = uvec2((v.x & 65535u) | v.y << 16, (v.z & 65535u) | v.w << 16); }
void store_4(uint64_t at, uvec4 v) { Bytes16(at).data = v; }
void store_8(uint64_t at, uvec4 v) { Bytes16(at).data = v; }

void store_some_1(uint64_t at, uvec4 v, uint elements) {
  for (uint i = 0u; i < elements; ++i) Bytes1(at + uint64_t(i)).data = uint8_t(v[i]);
}
void store_some_2(uint64_t at, uvec4 v, uint elements) {
  for (uint i = 0u; i < elements; ++i) Bytes2(at + uint64_t(2u * i)).data = uint16_t(v[i]);
}
void store_some_4(uint64_t at, uvec4 v, uint elements) {
  for (uint i = 0u; i < elements; ++i) Bytes4(at + uint64_t(4u * i)).data = v[i];
}
void store_some_8(uint64_t at, uvec4 v, uint elements) {
  for (uint i = 0u; i < elements; ++i) Bytes8(at + uint64_t(8u * i)).data = i == 0u ? v.xy : v.zw;
}

// ---- The loop ------------------------------------------------------------------------------------------------------

// VALUES is made of `words`, a block's four.
#define KYMO_FILL(NAME, ELEMENT_SHIFT, BYTE_SHIFT, STORE, STORE_SOME, VALUES)                                      \
  void NAME() {                                                                                                    \
    uint64_t base = uint64_t(target);                                                                              \
    uint64_t full = count >> ELEMENT_SHIFT;                                                                        \
    uint64_t stride = uint64_t(gl_NumWorkGroups.x * gl_WorkGroupSize.x);                                           \
    uint64_t block = uint64_t(gl_GlobalInvocationID.x);                                                            \
    bool aligned = (uint(base) & ((1u << BYTE_SHIFT) - 1u)) == 0u;                                                 \
    if (aligned) {                                                                                                 \
      for (; block < full; block += stride) {                                                                      \
        uvec4 words = kymo_block(seed, offset + block);                                                            \
        STORE(base + (block << BYTE_SHIFT), VALUES);                                                               \
      }                                                                                                            \
    } else {                                                                                                       \
      for (; block < full; block += stride) {                                                                      \
        uvec4 words = kymo_block(seed, offset + block);                                                            \
        STORE_SOME(base + (block << BYTE_SHIFT), VALUES, 1u << ELEMENT_SHIFT);                                     \
      }                                                                                                            \
    }                                                                                                              \
    uint rest = uint(count - (full << ELEMENT_SHIFT));                                                             \
    if (block == full && rest != 0u) {                                                                             \
      uvec4 words = kymo_block(seed, offset + block);                                                              \
      STORE_SOME(base + (block << BYTE_SHIFT), VALUES, rest);                                                      \
    }                                                                                                              \
  }
#define KYMO_FILL_1(NAME, VALUES) KYMO_FILL(NAME, 2, 2, store_1, store_some_1, VALUES)
#define KYMO_FILL_2(NAME, VALUES) KYMO_FILL(NAME, 2, 3, store_2, store_some_2, VALUES)
#define KYMO_FILL_4(NAME, VALUES) KYMO_FILL(NAME, 2, 4, store_4, store_some_4, VALUES)
#define KYMO_FILL_8(NAME, VALUES) KYMO_FILL(NAME, 1, 4, store_8, store_some_8, VALUES)

// ---- The kernels ---------------------------------------------------------------------------------------------------

#if KYMO_FAMILY == KYMO_UNIFORM

KYMO_FILL_4(kymo_random_uniform_f32, kymo_uniform_values(words, x, y))
KYMO_FILL_2(kymo_random_uniform_f16, kymo_half_values(kymo_uniform_values(words, x, y)))
KYMO_FILL_2(kymo_random_uniform_bf16, kymo_bfloat_values(kymo_uniform_values(words, x, y)))

#elif KYMO_FAMILY == KYMO_NORMAL

// The table, in the group's memory.
shared uvec4 table[KYMO_NORMAL_ROWS];

void load_table() {
  for (uint i = gl_LocalInvocationID.x; i < KYMO_NORMAL_ROWS; i += gl_WorkGroupSize.x) table[i] = kymo_normal_table[i];
  barrier();
}
uint normal_of(uint word) {
  uint key = kymo_normal_key(word);
  return kymo_normal(word, key, table[kymo_normal_row(key)], KYMO_NORMAL_MEAN(x), KYMO_NORMAL_DEVIATION(x));
}
uvec4 normal_values(uvec4 words) {
  return uvec4(normal_of(words.x), normal_of(words.y), normal_of(words.z), normal_of(words.w));
}

KYMO_FILL_4(fill_f32, normal_values(words))
KYMO_FILL_2(fill_f16, kymo_half_values(normal_values(words)))
KYMO_FILL_2(fill_bf16, kymo_bfloat_values(normal_values(words)))

void kymo_random_normal_f32() {
  load_table();
  fill_f32();
}
void kymo_random_normal_f16() {
  load_table();
  fill_f16();
}
void kymo_random_normal_bf16() {
  load_table();
  fill_bf16();
}

#elif KYMO_FAMILY == KYMO_RANDINT

KYMO_FILL_1(kymo_random_randint_8, kymo_integer_values(words, x, y))
KYMO_FILL_2(kymo_random_randint_16, kymo_integer_values(words, x, y))
KYMO_FILL_4(kymo_random_randint_32, kymo_integer_values(words, x, y))
KYMO_FILL_8(kymo_random_randint_64, kymo_wide_integer_values(words, x, y, z))
KYMO_FILL_4(kymo_random_randint_f32, kymo_float_integer_values(words, x, y))
KYMO_FILL_2(kymo_random_randint_f16, kymo_half_values(kymo_float_integer_values(words, x, y)))
KYMO_FILL_2(kymo_random_randint_bf16, kymo_bfloat_values(kymo_float_integer_values(words, x, y)))

#elif KYMO_FAMILY == KYMO_BERNOULLI

KYMO_FILL_1(kymo_random_bernoulli_8, kymo_bernoulli_values(words, x, y))
KYMO_FILL_2(kymo_random_bernoulli_16, kymo_bernoulli_values(words, x, y))
KYMO_FILL_4(kymo_random_bernoulli_32, kymo_bernoulli_values(words, x, y))
KYMO_FILL_8(kymo_random_bernoulli_64, kymo_wide_bernoulli_values(words, x, y))

#endif
