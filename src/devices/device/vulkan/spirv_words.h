// The numbers of SPIR-V that reflection and patching need, under the names the specification gives them.
#pragma once

#include <cstdint>

namespace kymo::device::vulkan::spirv {

inline constexpr uint32_t kMagic = 0x07230203;
inline constexpr uint32_t kSwappedMagic = 0x03022307;
inline constexpr uint32_t kVersion1_4 = 0x00010400;
inline constexpr size_t kHeaderWords = 5;            // magic, version, generator, bound, schema
inline constexpr uint32_t kLargestBound = 0x3FFFFF;  // of ids: a universal limit of the specification

enum class Op : uint16_t {
  Undef = 1,
  Name = 5,
  MemberName = 6,
  Line = 8,
  ExtInst = 12,
  EntryPoint = 15,
  ExecutionMode = 16,
  Capability = 17,
  TypeVoid = 19,
  TypeBool = 20,
  TypeInt = 21,
  TypeFloat = 22,
  TypeVector = 23,
  TypeMatrix = 24,
  TypeImage = 25,
  TypeSampler = 26,
  TypeSampledImage = 27,
  TypeArray = 28,
  TypeRuntimeArray = 29,
  TypeStruct = 30,
  TypePointer = 32,
  TypeFunction = 33,
  TypePipe = 38,
  TypeForwardPointer = 39,
  ConstantTrue = 41,
  ConstantFalse = 42,
  Constant = 43,
  ConstantComposite = 44,
  ConstantNull = 46,
  SpecConstantTrue = 48,
  SpecConstantFalse = 49,
  SpecConstant = 50,
  SpecConstantComposite = 51,
  SpecConstantOp = 52,
  Function = 54,
  FunctionEnd = 56,
  FunctionCall = 57,
  Variable = 59,
  Load = 61,
  Store = 62,
  CopyMemory = 63,
  AccessChain = 65,
  InBoundsAccessChain = 66,
  PtrAccessChain = 67,
  ArrayLength = 68,
  InBoundsPtrAccessChain = 70,
  Decorate = 71,
  MemberDecorate = 72,
  DecorationGroup = 73,
  VectorInsertDynamic = 78,
  VectorShuffle = 79,
  CompositeConstruct = 80,
  CompositeExtract = 81,
  CompositeInsert = 82,
  CopyObject = 83,
  ConvertFToU = 109,
  ConvertFToS = 110,
  ConvertSToF = 111,
  ConvertUToF = 112,
  FConvert = 115,
  Bitcast = 124,
  FNegate = 127,
  IAdd = 128,
  FAdd = 129,
  ISub = 130,
  FSub = 131,
  IMul = 132,
  FMul = 133,
  UDiv = 134,
  FDiv = 136,
  FRem = 140,
  FMod = 141,
  VectorTimesScalar = 142,
  Dot = 148,
  Select = 169,
  ShiftRightLogical = 194,
  ControlBarrier = 224,
  AtomicLoad = 227,
  AtomicStore = 228,
  AtomicXor = 242,
  Phi = 245,
  Label = 248,
  Return = 253,
  ReturnValue = 254,
  NoLine = 317,
  ExecutionModeId = 331,
  GroupNonUniformElect = 333,
  GroupNonUniformQuadSwap = 366,
  AtomicFAdd = 6035,
};

enum class StorageClass : uint32_t {
  UniformConstant = 0,
  Input = 1,
  Uniform = 2,
  Workgroup = 4,
  Private = 6,
  PushConstant = 9,
  StorageBuffer = 12,
  PhysicalStorageBuffer = 5349,
};

enum class Decoration : uint32_t {
  SpecId = 1,
  Block = 2,
  BufferBlock = 3,
  ArrayStride = 6,
  MatrixStride = 7,
  BuiltIn = 11,
  Binding = 33,
  DescriptorSet = 34,
  Offset = 35,
  NoContraction = 42,
};

enum class BuiltIn : uint32_t {
  NumWorkgroups = 24,
  WorkgroupSize = 25,
  WorkgroupId = 26,
  LocalInvocationId = 27,
  GlobalInvocationId = 28,
  LocalInvocationIndex = 29,
  SubgroupSize = 36,
  NumSubgroups = 38,
  SubgroupId = 40,
  SubgroupLocalInvocationId = 41,
};

inline constexpr uint32_t kGlCompute = 5;   // an execution model
inline constexpr uint32_t kLocalSize = 17;  // execution modes
inline constexpr uint32_t kLocalSizeId = 38;
inline constexpr uint32_t kSignedZeroInfNanPreserve = 4461;
inline constexpr uint32_t kSignedZeroInfNanPreserveCapability = 4466;

}  // namespace kymo::device::vulkan::spirv
