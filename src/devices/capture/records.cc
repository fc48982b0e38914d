#include "capture/records.h"

#include <bit>
#include <concepts>

#include "base/text.h"
#include "capture/files.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

using Kind = device::KernelArgument::Kind;

constexpr size_t kMaxArguments = 4096;

// Writes the fields of a record. Has the functions of FieldReader.
class FieldWriter {
 public:
  explicit FieldWriter(base::ByteWriter& out) : out_(out) {}

  void number(uint64_t value) { out_.varint(value); }
  void fixed(uint64_t value) { out_.fixed(value); }
  void real(double value) { out_.fixed(std::bit_cast<uint64_t>(value)); }
  void text(std::string_view value) { out_.string(value); }
  void zigzag(auto value) {
    const auto number = static_cast<int64_t>(value);
    out_.varint((static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63));
  }
  void dimension(int64_t value) { out_.varint(static_cast<uint64_t>(value)); }
  template <class Enum>
  void one_of(Enum value, uint8_t, Enum, const char*) {
    out_.byte(static_cast<uint8_t>(value));
  }
  void flag(bool value) { out_.byte(value ? 1 : 0); }
  void last_flag(bool value) {
    if (value) out_.byte(1);
  }
  void bytes(base::Bytes value, size_t) {
    out_.varint(value.size());
    out_.append(value);
  }
  void check_arguments() {}
  template <class List, class Each>
  void list(const List& items, size_t, Each&& each) {
    out_.varint(items.size());
    for (const auto& item : items) each(item);
  }
  template <class Map, class Each>
  void map(const Map& items, Each&& each) {
    out_.varint(items.size());
    for (const auto& [name, value] : items) {
      out_.string(name);
      each(value);
    }
  }

 private:
  base::ByteWriter& out_;
};

// Reads the fields of a record from untrusted bytes.
class FieldReader {
 public:
  explicit FieldReader(base::ByteReader& in) : in_(in) {}

  void number(uint32_t& value) { value = in_.varint_as<uint32_t>("a number"); }
  void number(uint64_t& value) { value = in_.varint(); }
  void fixed(uint64_t& value) { value = in_.fixed<uint64_t>(); }
  void real(double& value) { value = std::bit_cast<double>(in_.fixed<uint64_t>()); }
  void text(std::string& value) { value = in_.string(); }
  template <class Integer>
  void zigzag(Integer& value) {
    const uint64_t number = in_.varint();
    value = static_cast<Integer>(static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1));
  }
  void dimension(int64_t& value) {
    const uint64_t size = in_.varint();
    if (size > kMaxBufferBytes) throw Error("a tensor is too large");
    value = static_cast<int64_t>(size);
  }
  template <class Enum>
  void one_of(Enum& value, uint8_t first, Enum last, const char* what) {
    const uint8_t number = in_.byte();
    if (number < first || number > static_cast<uint8_t>(last))
      throw Error(base::format("{} is not a valid {}", int{number}, what));
    value = static_cast<Enum>(number);
  }
  void flag(bool& value) {
    uint8_t number = 0;
    one_of<uint8_t>(number, 0, 1, "boolean");
    value = number == 1;
  }
  // Only at the end of a record, because files of older versions do not have it.
  void last_flag(bool& value) {
    if (in_.left() != 0) value = in_.byte() != 0;
  }
  void bytes(std::vector<std::byte>& value, size_t element) {
    const auto taken = in_.take(in_.count());
    if (taken.size() % element != 0) throw Error("a list ends within an element");
    value.assign(taken.begin(), taken.end());
  }
  // The list that follows has the arguments of a launch.
  void check_arguments() {
    const size_t count = base::ByteReader(in_).count();
    if (count > kMaxArguments) throw Error(base::format("a launch has too many arguments: {}", count));
  }
  template <class List, class Each>
  void list(List& items, size_t smallest_item, Each&& each) {
    for (size_t count = in_.count(smallest_item); count > 0; --count) each(items.emplace_back());
  }
  template <class Map, class Each>
  void map(Map& items, Each&& each) {
    for (size_t count = in_.count(); count > 0; --count) {
      std::string name(in_.string());
      each(items[std::move(name)]);
    }
  }

 private:
  base::ByteReader& in_;
};

// ---- The fields of each record, for both directions ----------------------------------------------------------------

template <class T, class Kind>
concept A = std::same_as<std::remove_const_t<T>, Kind>;

void pieces(auto& code, A<Pieces> auto& pieces) {
  code.list(pieces, 1, [&](auto& piece) { code.number(piece); });
}

void dtype(auto& code, A<DType> auto& type) { code.one_of(type, 1, DType::Bool, "dtype"); }

void tensor(auto& code, A<TensorRef> auto& tensor) {
  code.number(tensor.buffer);
  code.number(tensor.offset);
  dtype(code, tensor.dtype);
  code.one_of(tensor.dimensions, 0, uint8_t{device::kMaxDimensions}, "number of dimensions");
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    code.dimension(tensor.sizes[i]);
    code.dimension(tensor.strides[i]);
  }
}

void extent(auto& code, A<device::Extent> auto& extent) {
  code.number(extent.x);
  code.number(extent.y);
  code.number(extent.z);
}

void argument(auto& code, A<ArgumentValue> auto& argument) {
  constexpr size_t kSmallestTensor = 4;
  code.one_of(argument.kind, 0, Kind::Bytes, "kind of argument");
  switch (argument.kind) {
    case Kind::Tensor:
      if constexpr (!std::is_const_v<std::remove_reference_t<decltype(argument)>>) argument.tensors.emplace_back();
      return tensor(code, argument.tensors.front());
    case Kind::Signed:
      return code.zigzag(argument.bits);
    case Kind::Unsigned:
      return code.number(argument.bits);
    case Kind::Float:
      return code.fixed(argument.bits);
    case Kind::List:
      dtype(code, argument.type);
      return code.bytes(argument.list, device::size_of(argument.type));
    case Kind::Bytes:
      return code.bytes(argument.list, 1);
    case Kind::Tensors:
      return code.list(argument.tensors, kSmallestTensor, [&](auto& one) { tensor(code, one); });
  }
}

void fields(auto& code, A<DeviceRecord> auto& record) {
  code.text(record.name);
  code.text(record.description);
  code.text(record.driver);
}

void fields(auto& code, A<LibraryRecord> auto& record) {
  code.number(record.device);
  code.one_of(record.language, 0, device::Language::Metal, "language");
  code.number(record.shader);
  code.text(record.options.file);
  code.list(record.options.options, 1, [&](auto& option) { code.text(option); });
  code.map(record.options.constants, [&](auto& value) { code.real(value); });
  code.map(record.options.headers, [&](auto& text) { code.text(text); });
  code.last_flag(record.options.tensor_cores);
}

void fields(auto& code, A<KernelRecord> auto& record) {
  code.number(record.library);
  code.text(record.name);
}

void fields(auto& code, A<BufferRecord> auto& record) {
  code.number(record.device);
  code.number(record.bytes);
}

void fields(auto& code, A<ContentsRecord> auto& record) {
  code.number(record.buffer);
  pieces(code, record.pieces);
}

void fields(auto& code, A<ResultRecord> auto& record) {
  code.number(record.buffer);
  code.flag(record.freed);
  pieces(code, record.pieces);
}

void fields(auto& code, A<OperationRecord> auto& record) {
  code.text(record.name);
  code.real(record.flops);
}

void fields(auto& code, A<LaunchCall> auto& call) {
  code.number(call.stream);
  code.number(call.kernel);
  extent(code, call.threads);
  extent(code, call.group);
  code.check_arguments();
  code.list(call.arguments, 1, [&](auto& one) { argument(code, one); });
}

void fields(auto& code, A<FillCall> auto& call) {
  code.number(call.stream);
  tensor(code, call.to);
  code.real(call.value);
}

void fields(auto& code, A<RandomCall> auto& call) {
  code.number(call.stream);
  tensor(code, call.to);
  code.one_of(call.fill.kind, 0, device::RandomFill::Kind::Bernoulli, "random fill");
  code.real(call.fill.a);
  code.real(call.fill.b);
  code.zigzag(call.fill.low);
  code.zigzag(call.fill.high);
  code.fixed(call.fill.seed);
  code.fixed(call.fill.offset);
}

void fields(auto& code, A<CopyCall> auto& call) {
  code.number(call.stream);
  tensor(code, call.from);
  tensor(code, call.to);
}

void fields(auto& code, A<UploadCall> auto& call) {
  code.number(call.stream);
  tensor(code, call.to);
  pieces(code, call.pieces);
}

void fields(auto& code, A<DownloadCall> auto& call) {
  code.number(call.stream);
  tensor(code, call.from);
}

void all_fields(auto& code, auto& record) {
  fields(code, record);
  if constexpr (kIsCall<std::decay_t<decltype(record)>>) code.number(record.operation);
}

template <size_t I = 0>
Record read_kind(FieldReader& in, size_t index) {
  if constexpr (I < std::variant_size_v<Record>) {
    if (index != I) return read_kind<I + 1>(in, index);
    std::variant_alternative_t<I, Record> record;
    all_fields(in, record);
    return record;
  } else {
    throw Error(base::format("{} is not a valid kind of record", index + 1));
  }
}

}  // namespace

void encode(const Record& record, base::ByteWriter& out) {
  base::ByteWriter payload;
  FieldWriter fields(payload);
  std::visit([&](const auto& one) { all_fields(fields, one); }, record);
  out.byte(static_cast<uint8_t>(record.index() + 1));
  out.varint(payload.size());
  out.append(payload.bytes());
}

Record decode(base::ByteReader& in) {
  const uint8_t kind = in.byte();
  base::ByteReader payload = in.sub(in.count());
  FieldReader fields(payload);
  Record record = read_kind(fields, static_cast<size_t>(kind) - 1);
  if (payload.left() != 0) throw Error(base::format("a record of kind {} is too long", int{kind}));
  return record;
}

bool is_call(const Record& record) {
  return std::visit([](const auto& one) { return kIsCall<std::decay_t<decltype(one)>>; }, record);
}

uint64_t TensorRef::elements() const {
  uint64_t count = 1;
  for (size_t i = 0; i < dimensions; ++i) count *= static_cast<uint64_t>(sizes[i]);
  return count;
}

}  // namespace kymo::capture
