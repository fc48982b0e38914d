// Reads records from untrusted bytes.

#include <bit>

#include "base/text.h"
#include "capture/format.h"
#include "capture/records.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

using Kind = device::KernelArgument::Kind;

constexpr size_t kMaxArguments = 4096;
constexpr uint8_t kLastDType = static_cast<uint8_t>(DType::Bool);

int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

double take_double(base::ByteReader& in) { return std::bit_cast<double>(in.fixed<uint64_t>()); }
uint32_t take_number(base::ByteReader& in) { return in.varint_as<uint32_t>("a number"); }

template <class Enum>
Enum take_enum(base::ByteReader& in, uint8_t first, uint8_t last, const char* what) {
  const uint8_t value = in.byte();
  if (value < first || value > last) throw Error(base::format("{} is not a valid {}", int{value}, what));
  return static_cast<Enum>(value);
}

DType take_dtype(base::ByteReader& in) { return take_enum<DType>(in, 1, kLastDType, "dtype"); }

Pieces take_pieces(base::ByteReader& in) {
  Pieces pieces(in.count());
  for (uint64_t& piece : pieces) piece = in.varint();
  return pieces;
}

TensorRef take_tensor(base::ByteReader& in) {
  TensorRef tensor;
  tensor.buffer = take_number(in);
  tensor.offset = in.varint();
  tensor.dtype = take_dtype(in);
  tensor.dimensions = take_enum<uint8_t>(in, 0, device::kMaxDimensions, "number of dimensions");
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    const uint64_t size = in.varint(), stride = in.varint();
    if (size > kMaxBufferBytes || stride > kMaxBufferBytes) throw Error("a tensor is too large");
    tensor.sizes[i] = static_cast<int64_t>(size);
    tensor.strides[i] = static_cast<int64_t>(stride);
  }
  return tensor;
}

device::Extent take_extent(base::ByteReader& in) {
  device::Extent extent;
  extent.x = in.varint();
  extent.y = in.varint();
  extent.z = in.varint();
  return extent;
}

ArgumentValue take_argument(base::ByteReader& in) {
  ArgumentValue argument;
  argument.kind = take_enum<Kind>(in, 0, static_cast<uint8_t>(Kind::Bytes), "kind of argument");
  switch (argument.kind) {
    case Kind::Tensor:
      argument.tensors.push_back(take_tensor(in));
      break;
    case Kind::Signed:
      argument.bits = static_cast<uint64_t>(unzigzag(in.varint()));
      break;
    case Kind::Unsigned:
      argument.bits = in.varint();
      break;
    case Kind::Float:
      argument.bits = in.fixed<uint64_t>();
      break;
    case Kind::List: {
      argument.type = take_dtype(in);
      const auto bytes = in.take(in.count());
      if (bytes.size() % device::size_of(argument.type) != 0) throw Error("a list ends within an element");
      argument.list.assign(bytes.begin(), bytes.end());
      break;
    }
    case Kind::Bytes: {
      const auto bytes = in.take(in.count());
      argument.list.assign(bytes.begin(), bytes.end());
      break;
    }
    case Kind::Tensors: {
      constexpr size_t kSmallestTensor = 4;
      const size_t count = in.count(kSmallestTensor);
      for (size_t i = 0; i < count; ++i) argument.tensors.push_back(take_tensor(in));
      break;
    }
  }
  return argument;
}

void take(base::ByteReader& in, DeviceRecord& record) {
  record.name = in.string();
  record.description = in.string();
  record.driver = in.string();
}

void take(base::ByteReader& in, LibraryRecord& record) {
  record.device = take_number(in);
  record.language = take_enum<device::Language>(in, 0, static_cast<uint8_t>(device::Language::Metal), "language");
  record.shader = take_number(in);
  record.options.file = in.string();
  for (size_t count = in.count(); count > 0; --count) record.options.options.emplace_back(in.string());
  for (size_t count = in.count(); count > 0; --count) {
    std::string name(in.string());
    record.options.constants[std::move(name)] = take_double(in);
  }
  for (size_t count = in.count(); count > 0; --count) {
    std::string name(in.string());
    record.options.headers[std::move(name)] = in.string();
  }
  if (in.left() != 0) record.options.tensor_cores = in.byte() != 0;
}

void take(base::ByteReader& in, KernelRecord& record) {
  record.library = take_number(in);
  record.name = in.string();
}

void take(base::ByteReader& in, BufferRecord& record) {
  record.device = take_number(in);
  record.bytes = in.varint();
}

void take(base::ByteReader& in, ContentsRecord& record) {
  record.buffer = take_number(in);
  record.pieces = take_pieces(in);
}

void take(base::ByteReader& in, ResultRecord& record) {
  record.buffer = take_number(in);
  record.freed = take_enum<uint8_t>(in, 0, 1, "boolean") == 1;
  record.pieces = take_pieces(in);
}

void take(base::ByteReader& in, OperationRecord& record) {
  record.name = in.string();
  record.flops = take_double(in);
}

void take(base::ByteReader& in, LaunchCall& call) {
  call.stream = take_number(in);
  call.kernel = take_number(in);
  call.threads = take_extent(in);
  call.group = take_extent(in);
  const size_t count = in.count();
  if (count > kMaxArguments) throw Error(base::format("a launch has too many arguments: {}", count));
  for (size_t i = 0; i < count; ++i) call.arguments.push_back(take_argument(in));
}

void take(base::ByteReader& in, FillCall& call) {
  call.stream = take_number(in);
  call.to = take_tensor(in);
  call.value = take_double(in);
}

void take(base::ByteReader& in, RandomCall& call) {
  call.stream = take_number(in);
  call.to = take_tensor(in);
  using FillKind = device::RandomFill::Kind;
  call.fill.kind = take_enum<FillKind>(in, 0, static_cast<uint8_t>(FillKind::Bernoulli), "random fill");
  call.fill.a = take_double(in);
  call.fill.b = take_double(in);
  call.fill.low = unzigzag(in.varint());
  call.fill.high = unzigzag(in.varint());
  call.fill.seed = in.fixed<uint64_t>();
  call.fill.offset = in.fixed<uint64_t>();
}

void take(base::ByteReader& in, CopyCall& call) {
  call.stream = take_number(in);
  call.from = take_tensor(in);
  call.to = take_tensor(in);
}

void take(base::ByteReader& in, UploadCall& call) {
  call.stream = take_number(in);
  call.to = take_tensor(in);
  call.pieces = take_pieces(in);
}

void take(base::ByteReader& in, DownloadCall& call) {
  call.stream = take_number(in);
  call.from = take_tensor(in);
}

template <size_t I = 0>
Record take_kind(base::ByteReader& in, size_t index) {
  if constexpr (I < std::variant_size_v<Record>) {
    if (index != I) return take_kind<I + 1>(in, index);
    std::variant_alternative_t<I, Record> record;
    take(in, record);
    if constexpr (kIsCall<decltype(record)>) record.operation = take_number(in);
    return record;
  } else {
    throw Error(base::format("{} is not a valid kind of record", index + 1));
  }
}

}  // namespace

Record decode(base::ByteReader& in) {
  const uint8_t kind = in.byte();
  base::ByteReader payload = in.sub(in.count());
  Record record = take_kind(payload, static_cast<size_t>(kind) - 1);
  if (payload.left() != 0) throw Error(base::format("a record of kind {} is too long", int{kind}));
  return record;
}

}  // namespace kymo::capture
