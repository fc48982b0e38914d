// A SPIR-V module as a list of instructions, with lookup of definitions, names and decorations.
//
// The words come from outside and are not trusted: every length, id and operand is checked when it is read. Input that
// is not SPIR-V, or breaks a rule that the reader depends on, throws CompileError with the instruction. This is not a
// validator: a module that is well-formed but wrong passes, and the driver must reject it. Immutable once created; many
// threads can read it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kymo::device::vulkan::spirv {

// The numbers of SPIR-V that reflection and patching need, under the names the specification gives them.

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
  TypeArray = 28,
  TypeRuntimeArray = 29,
  TypeStruct = 30,
  TypePointer = 32,
  TypeFunction = 33,
  TypePipe = 38,
  TypeForwardPointer = 39,
  ConstantTrue = 41,
  Constant = 43,
  ConstantComposite = 44,
  ConstantNull = 46,
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
  GlobalInvocationId = 28,
};

inline constexpr uint32_t kGlCompute = 5;   // an execution model
inline constexpr uint32_t kLocalSize = 17;  // execution modes
inline constexpr uint32_t kLocalSizeId = 38;
inline constexpr uint32_t kSignedZeroInfNanPreserve = 4461;
inline constexpr uint32_t kSignedZeroInfNanPreserveCapability = 4466;

// Throws CompileError: "SPIR-V: …".
[[noreturn]] void refuse(const std::string& why);

struct Instruction {
  Op op{};
  std::span<const uint32_t> words;  // the first word contains the opcode and the length

  uint32_t at(size_t index) const {
    if (index >= words.size()) too_short();
    return words[index];
  }
  size_t size() const { return words.size(); }

 private:
  [[noreturn]] void too_short() const;
};

// The decorations of one id, or of one member of a structure.
struct Decorations {
  std::optional<uint32_t> built_in, set, binding, spec_id, array_stride, matrix_stride, offset;
  bool buffer_block = false;
};

struct EntryPoint {
  uint32_t function = 0;
  std::string name;
  std::vector<uint32_t> interface;
  std::array<uint32_t, 3> local_size{1, 1, 1};
  std::optional<std::array<uint32_t, 3>> local_size_ids;  // ids of constants, which have priority
};

class Module {
 public:
  explicit Module(std::vector<uint32_t> words);
  Module(Module&&) = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // From the bytes of a file or a message: throws CompileError unless they are whole words. Either byte order.
  static std::vector<uint32_t> words_of(std::string_view bytes);

  std::span<const uint32_t> words() const { return words_; }
  uint32_t version() const { return words_[1]; }
  uint32_t bound() const { return words_[3]; }
  std::span<const Instruction> instructions() const { return instructions_; }
  std::span<const EntryPoint> entry_points() const { return entry_points_; }  // of compute kernels
  std::span<const uint32_t> capabilities() const { return capabilities_; }

  // For types, constants, global variables and functions. The first throws if there is none, the second returns null.
  const Instruction& definition(uint32_t id) const;
  const Instruction* find(uint32_t id) const {
    return id < definitions_.size() ? at_or_null(definitions_[id]) : nullptr;
  }

  const Decorations& decorations(uint32_t id) const;
  const Decorations& member_decorations(uint32_t structure, uint32_t member) const;
  std::string_view name(uint32_t id) const;  // empty: no name
  std::string_view member_name(uint32_t structure, uint32_t member) const;

 private:
  const Instruction* at_or_null(uint32_t index) const { return index == 0 ? nullptr : &instructions_[index - 1]; }
  void index(const Instruction& instruction);
  void add_entry_point(const Instruction& instruction);
  void set_mode(const Instruction& instruction);

  std::vector<uint32_t> words_;
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> definitions_;  // by id: index of the instruction + 1; 0: none
  std::unordered_map<uint32_t, Decorations> decorations_;
  std::unordered_map<uint64_t, Decorations> member_decorations_;
  std::unordered_map<uint32_t, std::string> names_;
  std::unordered_map<uint64_t, std::string> member_names_;
  std::vector<EntryPoint> entry_points_;
  std::vector<uint32_t> capabilities_;
};

// Adds to a SPIR-V module: new ids, instructions for its sections, and types that are declared once.

inline uint32_t word(StorageClass storage) { return static_cast<uint32_t>(storage); }
inline uint32_t word(Decoration decoration) { return static_cast<uint32_t>(decoration); }
inline uint32_t word(BuiltIn built_in) { return static_cast<uint32_t>(built_in); }

// Appends an instruction.
void emit(std::vector<uint32_t>& to, Op op, std::initializer_list<uint32_t> operands);
void emit(std::vector<uint32_t>& to, Op op, std::span<const uint32_t> operands);

class Edit {
 public:
  explicit Edit(const Module& module) : module_(module), next_(module.bound()) {}

  uint32_t fresh();  // an id
  uint32_t bound() const { return next_; }

  // A type that SPIR-V allows only once: the module's own one with its id, or a new one. In both cases it is declared
  // at the front, before everything that may need it. So it may be built only from such types.
  uint32_t hoist(Op op, std::initializer_list<uint32_t> operands);
  bool moved(uint32_t id) const { return moved_.contains(id); }  // it is no longer at its old position

  std::vector<uint32_t> decorations, types, variables;  // new instructions for these sections

 private:
  const Module& module_;
  uint32_t next_;
  std::unordered_set<uint32_t> moved_;
};

}  // namespace kymo::device::vulkan::spirv
