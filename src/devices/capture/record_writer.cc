#include <bit>

#include "capture/records.h"

namespace kymo::capture {
namespace {

using Kind = device::KernelArgument::Kind;

void put_double(base::ByteWriter& out, double value) { out.fixed(std::bit_cast<uint64_t>(value)); }
uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }

void put_pieces(base::ByteWriter& out, const Pieces& pieces) {
  out.varint(pieces.size());
  for (const uint64_t piece : pieces) out.varint(piece);
}

void put_tensor(base::ByteWriter& out, const TensorRef& tensor) {
  out.varint(tensor.buffer);
  out.varint(tensor.offset);
  out.byte(static_cast<uint8_t>(tensor.dtype));
  out.byte(tensor.dimensions);
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    out.varint(static_cast<uint64_t>(tensor.sizes[i]));
    out.varint(static_cast<uint64_t>(tensor.strides[i]));
  }
}

void put_extent(base::ByteWriter& out, const device::Extent& extent) {
  out.varint(extent.x);
  out.varint(extent.y);
  out.varint(extent.z);
}

void put_argument(base::ByteWriter& out, const ArgumentValue& argument) {
  out.byte(static_cast<uint8_t>(argument.kind));
  switch (argument.kind) {
    case Kind::Tensor:
      return put_tensor(out, argument.tensors.front());
    case Kind::Signed:
      return out.varint(zigzag(static_cast<int64_t>(argument.bits)));
    case Kind::Unsigned:
      return out.varint(argument.bits);
    case Kind::Float:
      return out.fixed(argument.bits);
    case Kind::List:
      out.byte(static_cast<uint8_t>(argument.type));
      out.varint(argument.list.size());
      return out.append(argument.list);
    case Kind::Bytes:
      out.varint(argument.list.size());
      return out.append(argument.list);
    case Kind::Tensors:
      out.varint(argument.tensors.size());
      for (const TensorRef& tensor : argument.tensors) put_tensor(out, tensor);
      return;
  }
}

void put(base::ByteWriter& out, const DeviceRecord& record) {
  out.string(record.name);
  out.string(record.description);
  out.string(record.driver);
}

void put(base::ByteWriter& out, const LibraryRecord& record) {
  out.varint(record.device);
  out.byte(static_cast<uint8_t>(record.language));
  out.varint(record.shader);
  out.string(record.options.file);
  out.varint(record.options.options.size());
  for (const std::string& option : record.options.options) out.string(option);
  out.varint(record.options.constants.size());
  for (const auto& [name, value] : record.options.constants) {
    out.string(name);
    put_double(out, value);
  }
  out.varint(record.options.headers.size());
  for (const auto& [name, text] : record.options.headers) {
    out.string(name);
    out.string(text);
  }
  if (record.options.tensor_cores) out.byte(1);
}

void put(base::ByteWriter& out, const KernelRecord& record) {
  out.varint(record.library);
  out.string(record.name);
}

void put(base::ByteWriter& out, const BufferRecord& record) {
  out.varint(record.device);
  out.varint(record.bytes);
}

void put(base::ByteWriter& out, const ContentsRecord& record) {
  out.varint(record.buffer);
  put_pieces(out, record.pieces);
}

void put(base::ByteWriter& out, const ResultRecord& record) {
  out.varint(record.buffer);
  out.byte(record.freed ? 1 : 0);
  put_pieces(out, record.pieces);
}

void put(base::ByteWriter& out, const OperationRecord& record) {
  out.string(record.name);
  put_double(out, record.flops);
}

void put(base::ByteWriter& out, const LaunchCall& call) {
  out.varint(call.stream);
  out.varint(call.kernel);
  put_extent(out, call.threads);
  put_extent(out, call.group);
  out.varint(call.arguments.size());
  for (const ArgumentValue& argument : call.arguments) put_argument(out, argument);
}

void put(base::ByteWriter& out, const FillCall& call) {
  out.varint(call.stream);
  put_tensor(out, call.to);
  put_double(out, call.value);
}

void put(base::ByteWriter& out, const RandomCall& call) {
  out.varint(call.stream);
  put_tensor(out, call.to);
  out.byte(static_cast<uint8_t>(call.fill.kind));
  put_double(out, call.fill.a);
  put_double(out, call.fill.b);
  out.varint(zigzag(call.fill.low));
  out.varint(zigzag(call.fill.high));
  out.fixed(call.fill.seed);
  out.fixed(call.fill.offset);
}

void put(base::ByteWriter& out, const CopyCall& call) {
  out.varint(call.stream);
  put_tensor(out, call.from);
  put_tensor(out, call.to);
}

void put(base::ByteWriter& out, const UploadCall& call) {
  out.varint(call.stream);
  put_tensor(out, call.to);
  put_pieces(out, call.pieces);
}

void put(base::ByteWriter& out, const DownloadCall& call) {
  out.varint(call.stream);
  put_tensor(out, call.from);
}

}  // namespace

void encode(const Record& record, base::ByteWriter& out) {
  base::ByteWriter payload;
  std::visit(
      [&](const auto& one) {
        put(payload, one);
        if constexpr (kIsCall<std::decay_t<decltype(one)>>) payload.varint(one.operation);
      },
      record);
  out.byte(static_cast<uint8_t>(record.index() + 1));
  out.varint(payload.size());
  out.append(payload.bytes());
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
