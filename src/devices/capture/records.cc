#include "capture/records.h"

#include "base/field_codec.h"
#include "base/text.h"
#include "capture/files.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

using base::MaybeConst;
using Kind = device::KernelArgument::Kind;

constexpr size_t kMaxArguments = 4096;

// A signed number near 0 is short.
void zigzag(auto& io, auto& value) {
  const auto plain = static_cast<int64_t>(value);
  uint64_t number = (static_cast<uint64_t>(plain) << 1) ^ static_cast<uint64_t>(plain >> 63);
  io(number);
  io.when_read(value, [&](auto& read) {
    read = static_cast<std::remove_reference_t<decltype(read)>>(static_cast<int64_t>(number >> 1) ^
                                                                -static_cast<int64_t>(number & 1));
  });
}

// A size or a stride of a tensor.
void dimension(auto& io, MaybeConst<int64_t> auto& value) {
  auto number = static_cast<uint64_t>(value);
  io(number);
  io.when_read(value, [&](auto& read) {
    if (number > kMaxBufferBytes) throw Error("a tensor is too large");
    read = static_cast<int64_t>(number);
  });
}

void dtype(auto& io, MaybeConst<DType> auto& type) { io.one_of(type, DType::F16, DType::Bool, "dtype"); }

void extent(auto& io, MaybeConst<device::Extent> auto& extent) { io(extent.x, extent.y, extent.z); }

}  // namespace

// ---- The fields of each record -------------------------------------------------------------------------------------

static void fields(auto& io, MaybeConst<TensorRef> auto& tensor) {
  io(tensor.buffer, tensor.offset);
  dtype(io, tensor.dtype);
  io.one_of(tensor.dimensions, uint8_t{0}, uint8_t{device::kMaxDimensions}, "number of dimensions");
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    dimension(io, tensor.sizes[i]);
    dimension(io, tensor.strides[i]);
  }
}

static void fields(auto& io, MaybeConst<ArgumentValue> auto& argument) {
  io.one_of(argument.kind, Kind{}, Kind::Bytes, "kind of argument");
  switch (argument.kind) {
    case Kind::Tensor:
      io.when_read(argument, [](auto& read) { read.tensors.emplace_back(); });
      return io(argument.tensors.front());
    case Kind::Signed:
      return zigzag(io, argument.bits);
    case Kind::Unsigned:
      return io(argument.bits);
    case Kind::Float:
      return io.fixed(argument.bits);
    case Kind::List:
      dtype(io, argument.type);
      io(argument.list);
      return io.when_read(argument, [](const auto& read) {
        if (read.list.size() % device::size_of(read.type) != 0) throw Error("a list ends within an element");
      });
    case Kind::Bytes:
      return io(argument.list);
    case Kind::Tensors:
      return io(argument.tensors);
  }
}

static void fields(auto& io, MaybeConst<DeviceRecord> auto& record) {
  io(record.name, record.description, record.driver);
}

static void fields(auto& io, MaybeConst<LibraryRecord> auto& record) {
  io(record.device);
  io.one_of(record.language, device::Language{}, device::Language::Metal, "language");
  auto& options = record.options;
  io(record.shader, options.file, options.options, options.constants, options.headers);
  io.later(options.tensor_cores);
}

static void fields(auto& io, MaybeConst<KernelRecord> auto& record) { io(record.library, record.name); }
static void fields(auto& io, MaybeConst<BufferRecord> auto& record) { io(record.device, record.bytes); }
static void fields(auto& io, MaybeConst<ContentsRecord> auto& record) { io(record.buffer, record.pieces); }
static void fields(auto& io, MaybeConst<ResultRecord> auto& record) { io(record.buffer, record.freed, record.pieces); }
static void fields(auto& io, MaybeConst<OperationRecord> auto& record) { io(record.name, record.flops); }

static void fields(auto& io, MaybeConst<LaunchCall> auto& call) {
  io(call.stream, call.kernel);
  extent(io, call.threads);
  extent(io, call.group);
  io.list(call.arguments, kMaxArguments, "arguments of a launch");
}

static void fields(auto& io, MaybeConst<FillCall> auto& call) { io(call.stream, call.to, call.value); }

static void fields(auto& io, MaybeConst<RandomCall> auto& call) {
  io(call.stream, call.to);
  io.one_of(call.fill.kind, device::RandomFill::Kind{}, device::RandomFill::Kind::Bernoulli, "random fill");
  io(call.fill.a, call.fill.b);
  zigzag(io, call.fill.low);
  zigzag(io, call.fill.high);
  io.fixed(call.fill.seed);
  io.fixed(call.fill.offset);
}

static void fields(auto& io, MaybeConst<CopyCall> auto& call) { io(call.stream, call.from, call.to); }
static void fields(auto& io, MaybeConst<UploadCall> auto& call) { io(call.stream, call.to, call.pieces); }
static void fields(auto& io, MaybeConst<DownloadCall> auto& call) { io(call.stream, call.from); }

namespace {

void all_fields(auto& io, auto& record) {
  fields(io, record);
  if constexpr (kIsCall<std::decay_t<decltype(record)>>) io(record.operation);
}

template <size_t I = 0>
Record read_kind(base::FieldReader& in, size_t index) {
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
  base::FieldWriter io(payload);
  std::visit([&](const auto& one) { all_fields(io, one); }, record);
  out.byte(static_cast<uint8_t>(record.index() + 1));
  out.varint(payload.size());
  out.append(payload.bytes());
}

Record decode(base::ByteReader& in) {
  const uint8_t kind = in.byte();
  base::ByteReader payload = in.sub(in.count());
  base::FieldReader io(payload);
  Record record = read_kind(io, static_cast<size_t>(kind) - 1);
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
