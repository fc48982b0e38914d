#version 450
// One thread an element: from its number to its place in either tensor, innermost dimension last.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#pragma kernel strided_copy_1
#pragma kernel strided_copy_2
#pragma kernel strided_copy_4
#pragma kernel strided_copy_8
layout(local_size_x_id = 0) in;

layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Elements1 { uint8_t e[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Elements2 { uint16_t e[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Elements4 { uint e[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Elements8 { uint64_t e[]; };

layout(push_constant, scalar) uniform Arguments {
  Elements1 from;
  Elements1 to;
  uint sizes[8];
  uint from_strides[8];
  uint to_strides[8];
};

uint place_from() {
  uint index = gl_GlobalInvocationID.x, place = 0;
  for (int i = 7; i >= 0; --i) {
    place += index % sizes[i] * from_strides[i];
    index /= sizes[i];
  }
  return place;
}
uint place_to() {
  uint index = gl_GlobalInvocationID.x, place = 0;
  for (int i = 7; i >= 0; --i) {
    place += index % sizes[i] * to_strides[i];
    index /= sizes[i];
  }
  return place;
}

void strided_copy_1() { Elements1(uint64_t(to)).e[place_to()] = Elements1(uint64_t(from)).e[place_from()]; }
void strided_copy_2() { Elements2(uint64_t(to)).e[place_to()] = Elements2(uint64_t(from)).e[place_from()]; }
void strided_copy_4() { Elements4(uint64_t(to)).e[place_to()] = Elements4(uint64_t(from)).e[place_from()]; }
void strided_copy_8() { Elements8(uint64_t(to)).e[place_to()] = Elements8(uint64_t(from)).e[place_from()]; }
