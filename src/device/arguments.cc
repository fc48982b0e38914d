#include "device/arguments.h"

#include <fmt/format.h>

#include <cstring>

#include "device/number.h"
#include "device/storage.h"

namespace kymo::device {
namespace {

bool is_number(const KernelArgument& given) {
  return given.kind() == KernelArgument::Kind::Signed || given.kind() == KernelArgument::Kind::Unsigned ||
         given.kind() == KernelArgument::Kind::Float;
}

std::string_view noun(const KernelArgument& given) {
  switch (given.kind()) {
    case KernelArgument::Kind::Tensor:
      return "a tensor";
    case KernelArgument::Kind::List:
      return "a list of numbers";
    case KernelArgument::Kind::Tensors:
      return "a list of tensors";
    default:
      return "a number";
  }
}

std::string type_text(const Parameter& parameter) {
  if (!parameter.type) return fmt::format("{} bytes", parameter.bytes);
  if (parameter.count == 1) return std::string(name_of(*parameter.type));
  return fmt::format("{} of {}", parameter.count, name_of(*parameter.type));
}

size_t next_of_kind(const std::vector<Parameter>& parameters, bool buffer, size_t from) {
  while (from < parameters.size() && (parameters[from].kind == ParameterKind::Buffer) != buffer) ++from;
  return from;
}

}  // namespace

Arguments::Arguments(const KernelState& kernel, std::span<const KernelArgument> given, StreamState& stream)
    : kernel_(kernel), stream_(stream), count_(kernel.info->parameters.size()) {
  if (given.size() != count_) {
    throw InvalidArgument(fmt::format("kernel \"{}\" takes {} argument{}, and was given {}", kernel.name, count_,
                                      count_ == 1 ? "" : "s", given.size()));
  }
  if (count_ > kInlineArguments) {
    more_arguments_.resize(count_);
    arguments_ = more_arguments_.data();
  }
  if (kernel.info->matched_by_kind)
    match_by_kind(given);
  else
    match_by_position(given);
}

void Arguments::match_by_position(std::span<const KernelArgument> given) {
  for (size_t i = 0; i < count_; ++i) put(i, given[i]);
}

// A list of tensors may be for a value (an array of addresses) where no buffer is left for it.
void Arguments::match_by_kind(std::span<const KernelArgument> given) {
  const auto& parameters = kernel_.info->parameters;
  size_t buffer = next_of_kind(parameters, true, 0), value = next_of_kind(parameters, false, 0);
  for (size_t i = 0; i < count_; ++i) {
    const bool is_tensor = given[i].kind() == KernelArgument::Kind::Tensor;
    const bool takes_buffer = is_tensor || (!is_number(given[i]) && value >= count_);
    size_t& next = takes_buffer ? buffer : value;
    if (next >= count_) {
      throw InvalidArgument(fmt::format("argument {} of kernel \"{}\" is {}, and the kernel takes no more {}", i + 1,
                                        kernel_.name, noun(given[i]), takes_buffer ? "tensors" : "numbers"));
    }
    put(next, given[i]);
    next = next_of_kind(parameters, takes_buffer, next + 1);
  }
}

std::string Arguments::which(size_t position) const {
  const Parameter& parameter = kernel_.info->parameters[position];
  const std::string name = parameter.name.empty() ? "" : fmt::format(" ({})", parameter.name);
  return fmt::format("argument {}{} of kernel \"{}\"", position + 1, name, kernel_.name);
}

void Arguments::put(size_t position, const KernelArgument& given) {
  const Parameter& parameter = kernel_.info->parameters[position];
  using Kind = KernelArgument::Kind;
  switch (parameter.kind) {
    case ParameterKind::Buffer:
      if (given.kind() == Kind::Tensor) return put_tensor(position, given.tensor());
      if (given.kind() == Kind::List) {
        // The values as the kernel declares them, or as they were given where it does not say.
        const DType type = parameter.type.value_or(given.list_type());
        std::vector<std::byte> converted(given.list_size() * size_of(type));
        for (size_t i = 0; i < given.list_size(); ++i) {
          const Number number = Number::of(given.list_type(), given.list(), i);
          if (!store_number(number, type, converted.data() + i * size_of(type)))
            throw InvalidArgument(fmt::format("{}: {} does not fit {}", which(position), number.text(), name_of(type)));
        }
        return put_list(position, std::move(converted));
      }
      if (given.kind() == Kind::Tensors) {
        std::vector<Address> addresses;
        for (const Tensor& tensor : given.tensors()) addresses.push_back(use(position, tensor));
        indirect_.insert(indirect_.end(), addresses.begin(), addresses.end());
        const auto bytes = std::as_bytes(std::span(addresses));
        return put_list(position, {bytes.begin(), bytes.end()});
      }
      throw InvalidArgument(
          fmt::format("{} is a buffer and takes a tensor; it was given {}", which(position), noun(given)));
    case ParameterKind::Word:
      if (given.kind() == Kind::Tensor) return put_address(position, given.tensor());
      [[fallthrough]];
    case ParameterKind::Value:
    case ParameterKind::Unknown:
      return put_value(position, given);
    case ParameterKind::Local: {
      uint64_t bytes = 0;
      if (!is_number(given) || !store_number(Number::of(given), DType::U64, &bytes) || bytes == 0 ||
          bytes > UINT32_MAX) {
        throw InvalidArgument(fmt::format("{} is group memory and takes its size in bytes", which(position)));
      }
      arguments_[position].bytes = static_cast<uint32_t>(bytes);
      return;
    }
  }
}

Address Arguments::use(size_t position, const Tensor& tensor) {
  if (!tensor.is_defined()) throw InvalidArgument(which(position) + " is an undefined tensor");
  if (&tensor.storage()->device() != &stream_.device()) {
    throw InvalidArgument(fmt::format("{} is a tensor on {}, and the kernel runs on {}: copy it with to()",
                                      which(position), tensor.device().name(), stream_.device().name()));
  }
  tensor.storage()->use_on(stream_);
  tensor_bytes_ += tensor.bytes();
  if (first_tensor_ == nullptr) first_tensor_ = &tensor;
  return tensor.address();
}

void Arguments::put_tensor(size_t position, const Tensor& tensor) {
  Argument& argument = arguments_[position];
  argument.address = use(position, tensor);
  argument.extent = tensor.storage()->bytes() - tensor.offset();
}

void Arguments::put_address(size_t position, const Tensor& tensor) {
  const Address address = use(position, tensor);
  std::byte* to = room(sizeof address);
  std::memcpy(to, &address, sizeof address);
  arguments_[position].data = to;
  arguments_[position].bytes = sizeof address;
  indirect_.push_back(address);
}

void Arguments::put_value(size_t position, const KernelArgument& given) {
  const Parameter& parameter = kernel_.info->parameters[position];
  if (given.kind() == KernelArgument::Kind::Tensor)
    throw InvalidArgument(
        fmt::format("{} is a number ({}), and was given a tensor", which(position), type_text(parameter)));
  if (!is_number(given)) return put_list_into_value(position, given);
  if (!parameter.type || parameter.count != 1) {
    throw InvalidArgument(fmt::format("{} takes {}, and was given one number", which(position), type_text(parameter)));
  }
  std::byte* to = room(size_of(*parameter.type));
  const Number number = Number::of(given);
  const bool fits = store_number(number, *parameter.type, to) ||
                    (parameter.kind == ParameterKind::Word && store_number(number, DType::I64, to));
  if (!fits)
    throw InvalidArgument(
        fmt::format("{}: {} does not fit {}", which(position), number.text(), name_of(*parameter.type)));
  arguments_[position].data = to;
  arguments_[position].bytes = static_cast<uint32_t>(size_of(*parameter.type));
}

void Arguments::put_list_into_value(size_t position, const KernelArgument& given) {
  const Parameter& parameter = kernel_.info->parameters[position];
  Argument& argument = arguments_[position];
  std::byte* to = room(parameter.bytes);
  std::memset(to, 0, parameter.bytes);
  argument.data = to;
  argument.bytes = parameter.bytes;
  const size_t count = given.list_size();
  if (given.kind() == KernelArgument::Kind::Tensors) {
    if (count * sizeof(Address) != parameter.bytes) {
      throw InvalidArgument(fmt::format("{} takes {}, and was given {} tensors of 8 bytes each", which(position),
                                        type_text(parameter), count));
    }
    for (const Tensor& tensor : given.tensors()) {
      const Address address = use(position, tensor);
      indirect_.push_back(address);
      std::memcpy(to, &address, sizeof address);
      to += sizeof address;
    }
    return;
  }
  // What reflection cannot tell is taken as it was given, if it has the right size.
  const DType type = parameter.type.value_or(given.list_type());
  const bool fits = parameter.type ? count == parameter.count : count * size_of(type) == parameter.bytes;
  if (!fits)
    throw InvalidArgument(
        fmt::format("{} takes {}, and was given a list of {}", which(position), type_text(parameter), count));
  for (size_t i = 0; i < count; ++i) {
    const Number number = Number::of(given.list_type(), given.list(), i);
    if (!store_number(number, type, to + i * size_of(type)))
      throw InvalidArgument(fmt::format("{}: {} does not fit {}", which(position), number.text(), name_of(type)));
  }
}

// A list where the kernel has a pointer: kept until everything is known to be right.
void Arguments::put_list(size_t position, std::vector<std::byte> bytes) {
  if (bytes.empty()) throw InvalidArgument(which(position) + " is an empty list");
  lists_.push_back({position, std::move(bytes)});
}

// Memory for this launch alone, which the stream's order keeps until it has run.
void Arguments::upload_lists() {
  for (const List& list : lists_) {
    const size_t size = list.bytes.size();
    const auto storage = std::make_shared<Storage>(stream_.device(), size, stream_);
    temporaries_.push_back(storage);
    const Address address = storage->address();
    stream_.run(
        [&] {
          Operation operation;
          operation.kind = OperationKind::CopyHostToDevice;
          operation.bytes = size;
          return operation;
        },
        [&](Queue& queue, Ticket* ticket) { queue.upload(list.bytes.data(), address, size, ticket); });
    arguments_[list.position].address = address;
    arguments_[list.position].extent = size;
  }
}

std::byte* Arguments::room(size_t bytes) {
  const size_t at = (bytes_used_ + 15) & ~size_t{15};
  if (at + bytes <= kInlineBytes) {
    bytes_used_ = at + bytes;
    return inline_bytes_ + at;
  }
  more_bytes_.push_back(std::make_unique<std::byte[]>(bytes));
  return more_bytes_.back().get();
}

}  // namespace kymo::device
