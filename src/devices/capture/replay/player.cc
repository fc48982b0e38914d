#include "capture/replay/player.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "capture/call_timer.h"
#include "capture/files.h"
#include "device/devices.h"
#include "device/language.h"
#include "device/library.h"

namespace kymo::capture {
namespace {

using device::DeviceState;
using device::KernelArgument;
using device::Tensor;

constexpr uint64_t kMaxKeptBytes = uint64_t{1} << 30;
constexpr size_t kMaxLockedBytes = size_t{256} << 20;

Tensor bytes_of(std::shared_ptr<device::Storage> storage) {
  const auto size = static_cast<int64_t>(storage->bytes());
  return {std::move(storage), DType::U8, {size}, {1}, 0};
}

template <class T>
KernelArgument list_of(const std::vector<std::byte>& bytes) {
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}

KernelArgument list_argument(const ArgumentValue& value) {
  switch (value.type) {
    case DType::F16:
      return list_of<device::Half>(value.list);
    case DType::BF16:
      return list_of<device::BFloat16>(value.list);
    case DType::F32:
      return list_of<float>(value.list);
    case DType::F64:
      return list_of<double>(value.list);
    case DType::I8:
      return list_of<int8_t>(value.list);
    case DType::U8:
      return list_of<uint8_t>(value.list);
    case DType::I16:
      return list_of<int16_t>(value.list);
    case DType::U16:
      return list_of<uint16_t>(value.list);
    case DType::I32:
      return list_of<int32_t>(value.list);
    case DType::U32:
      return list_of<uint32_t>(value.list);
    case DType::I64:
      return list_of<int64_t>(value.list);
    case DType::U64:
      return list_of<uint64_t>(value.list);
    case DType::Bool:
      return list_of<bool>(value.list);
  }
  throw Error("a list of an unknown type");
}

bool group_fits(const device::KernelInfo& kernel, const device::Extent& group, const device::DeviceInfo& device) {
  if (kernel.required_group.x != 0) return group == kernel.required_group;
  const device::Extent& max = device.max_group;
  return group.x <= max.x && group.y <= max.y && group.z <= max.z && group.volume() <= kernel.max_threads_per_group;
}

bool works_in_groups(const device::KernelInfo& kernel) {
  return kernel.uses_simdgroups || kernel.group_memory != 0 ||
         std::ranges::any_of(kernel.parameters,
                             [](const auto& parameter) { return parameter.kind == device::ParameterKind::Local; });
}

}  // namespace

base::Bytes PieceCache::get(uint64_t piece) {
  if (const auto kept = kept_.find(piece); kept != kept_.end()) return kept->second;
  passing_ = capture_.piece(piece);
  if (bytes_ + passing_.size() > kMaxKeptBytes) return passing_;
  bytes_ += passing_.size();
  return kept_[piece] = std::move(passing_);
}

Player::Player(const CaptureFile& capture, const std::string& device) : capture_(capture), pieces_(capture) {
  for (const DeviceRecord& then : capture.tables().devices) {
    try {
      devices_.push_back(&device::open_device(device.empty() ? then.name : device));
    } catch (const NotAvailable& error) {
      if (!device.empty()) throw;
      throw NotAvailable(
          base::format("{} was captured on {}, which is not available: choose another device with --device ({})",
                       capture.folder(), then.name, error.what()));
    }
  }
  compile(capture.tables());
}

Player::~Player() = default;

void Player::compile(const Tables& tables) {
  std::vector<std::string> first_kernel(tables.libraries.size());
  for (const KernelRecord& kernel : tables.kernels)
    if (first_kernel[kernel.library].empty()) first_kernel[kernel.library] = kernel.name;
  for (size_t i = 0; i < tables.libraries.size(); ++i) {
    const LibraryRecord& record = tables.libraries[i];
    DeviceState& device = *devices_[record.device];
    if (std::ranges::find(device.info().languages, record.language) == device.info().languages.end()) {
      throw Error(base::format("kernel \"{}\" is {}, which {} does not compile: only Metal runs on every device",
                               first_kernel[i], language_name(record.language), device.name()));
    }
    libraries_.push_back(device.libraries().get(capture_.shader_text(record.shader), record.options));
  }
  for (const KernelRecord& record : tables.kernels) {
    device::KernelState* kernel = libraries_[record.library]->find(record.name);
    if (kernel == nullptr) {
      throw Error(base::format("there is no kernel \"{}\" in {}", record.name,
                               capture_.shaders()[tables.libraries[record.library].shader].name));
    }
    kernels_.push_back(kernel);
  }
}

void Player::play(const Check& check) {
  std::vector<std::pair<DeviceState*, device::StreamState*>> before;
  std::vector<device::random::Generator::State> generators;
  for (DeviceState* device : devices_) {
    before.emplace_back(device, &device->current_stream());
    generators.push_back(device->generator().state());
  }
  const auto restore = [&] {
    CallTimer::instance().end_call();
    buffers_.clear();
    for (size_t i = devices_.size(); i-- > 0;) {
      before[i].first->set_current_stream(*before[i].second);
      devices_[i]->generator().set_state(generators[i]);
    }
  };
  buffers_.clear();
  next_call_ = 0;
  try {
    capture_.for_each([&](const Record& record, const Tables& tables) {
      if (std::holds_alternative<BufferRecord>(record)) {
        buffers_.emplace_back();
      } else if (const auto* contents = std::get_if<ContentsRecord>(&record)) {
        buffers_[contents->buffer].contents = contents->pieces;
      } else if (const auto* result = std::get_if<ResultRecord>(&record)) {
        check_result(*result, tables, check);
      } else {
        std::visit(
            [&](const auto& call) {
              if constexpr (kIsCall<std::decay_t<decltype(call)>>) perform(call, tables);
            },
            record);
      }
      CallTimer::instance().end_call();
    });
    for (DeviceState* device : devices_) device->synchronize();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

// ---- Buffers -------------------------------------------------------------------------------------------------------

device::StreamState& Player::go_to(uint32_t stream, DeviceState& device) {
  device::StreamState& state = device.stream(static_cast<device::StreamId>(stream));
  device.set_current_stream(state);
  return state;
}

device::StreamState& Player::stream_for(uint32_t stream, const TensorRef& tensor, const Tables& tables) {
  return go_to(stream, *devices_[tables.buffers[tensor.buffer].record.device]);
}

std::shared_ptr<device::Storage> Player::use(uint32_t buffer, const Tables& tables, device::StreamState& stream) {
  Buffer& used = buffers_[buffer];
  if (used.storage == nullptr) {
    used.storage = std::make_shared<device::Storage>(stream.device(), tables.buffers[buffer].record.bytes, stream);
    used.stream = stream.id();
    if (!used.contents.empty()) write_pieces(bytes_of(used.storage), used.contents);
  } else if (used.stream != stream.id()) {
    stream.device().order(used.stream, stream.id());
    used.stream = stream.id();
  }
  return used.storage;
}

Tensor Player::tensor_of(const TensorRef& reference, const Tables& tables, device::StreamState& stream) {
  const device::Shape shape(std::span(reference.sizes.data(), reference.dimensions));
  return {use(reference.buffer, tables, stream), reference.dtype, shape, reference.strides, reference.offset};
}

void Player::write_pieces(const Tensor& bytes, const Pieces& pieces) {
  int64_t at = 0;
  for (const uint64_t piece : pieces) {
    const base::Bytes contents = pieces_.get(piece);
    const int64_t end = at + static_cast<int64_t>(contents.size());
    bytes.slice(0, at, end).copy_from_bytes(contents);
    at = end;
  }
}

std::span<std::byte> Player::host_room(size_t bytes, DeviceState& device) {
  if (bytes <= kMaxLockedBytes) {
    auto found = host_.find(&device);
    if (found == host_.end() || found->second.bytes().size() < bytes) {
      device.synchronize();  // copies may still use the previous buffer
      host_.erase(&device);
      found = host_.emplace(&device, device::HostBuffer(bytes, device::Device(device))).first;
    }
    return found->second.bytes().first(bytes);
  }
  unlocked_host_.resize(bytes);
  return unlocked_host_;
}

void Player::check_result(const ResultRecord& result, const Tables& tables, const Check& check) {
  const BufferState& buffer = tables.buffers[result.buffer];
  if (check && buffer.record.bytes != 0) {
    DeviceState& device = *devices_[buffer.record.device];
    device::StreamState& stream = go_to(buffers_[result.buffer].stream, device);
    check(result, buffer.dtype, bytes_of(use(result.buffer, tables, stream)));
  }
  if (result.freed) buffers_[result.buffer] = {};
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

void Player::perform(const LaunchCall& call, const Tables& tables) {
  device::KernelState& state = *kernels_[call.kernel];
  const auto& library = libraries_[tables.kernels[call.kernel].library];
  DeviceState& device = library->device();
  device::StreamState& stream = go_to(call.stream, device);

  std::vector<std::vector<Tensor>> tensors;
  for (const ArgumentValue& value : call.arguments) {
    auto& list = tensors.emplace_back();
    for (const TensorRef& tensor : value.tensors) list.push_back(tensor_of(tensor, tables, stream));
  }
  std::vector<KernelArgument> arguments;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const ArgumentValue& value = call.arguments[i];
    switch (value.kind) {
      case KernelArgument::Kind::Tensor:
        arguments.emplace_back(tensors[i].front());
        break;
      case KernelArgument::Kind::Signed:
        arguments.emplace_back(static_cast<int64_t>(value.bits));
        break;
      case KernelArgument::Kind::Unsigned:
        arguments.emplace_back(value.bits);
        break;
      case KernelArgument::Kind::Float:
        arguments.emplace_back(std::bit_cast<double>(value.bits));
        break;
      case KernelArgument::Kind::List:
        arguments.push_back(list_argument(value));
        break;
      case KernelArgument::Kind::Bytes:
        arguments.emplace_back(value.list);
        break;
      case KernelArgument::Kind::Tensors:
        arguments.emplace_back(tensors[i]);
        break;
    }
  }
  device::Kernel kernel = device::Kernel(library, state).threads(call.threads.x, call.threads.y, call.threads.z);
  if (group_fits(*state.info, call.group, device.info())) {
    kernel = kernel.group(call.group.x, call.group.y, call.group.z);
  } else if (works_in_groups(*state.info)) {
    throw Error(base::format("kernel \"{}\" was launched in groups of {} x {} x {}, which {} does not support",
                             state.name, call.group.x, call.group.y, call.group.z, device.name()));
  }
  CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Kernels);
  kernel.launch(arguments);
}

void Player::perform(const FillCall& call, const Tables& tables) {
  Tensor to = tensor_of(call.to, tables, stream_for(call.stream, call.to, tables));
  CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
  to.fill(call.value);
}

void Player::perform(const RandomCall& call, const Tables& tables) {
  Tensor to = tensor_of(call.to, tables, stream_for(call.stream, call.to, tables));
  auto& generator = devices_[tables.buffers[call.to.buffer].record.device]->generator();
  generator.manual_seed(call.fill.seed);
  generator.set_offset(call.fill.offset);
  CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
  switch (call.fill.kind) {
    case device::RandomFill::Kind::Uniform:
      return device::uniform(to, call.fill.a, call.fill.b);
    case device::RandomFill::Kind::Normal:
      return device::normal(to, call.fill.a, call.fill.b);
    case device::RandomFill::Kind::Integers:
      return device::randint(to, call.fill.low, call.fill.high);
    case device::RandomFill::Kind::Bernoulli:
      return device::bernoulli(to, call.fill.a);
  }
}

void Player::perform(const CopyCall& call, const Tables& tables) {
  device::StreamState& stream = stream_for(call.stream, call.from, tables);
  const Tensor from = tensor_of(call.from, tables, stream);
  Tensor to = tensor_of(call.to, tables, stream);
  CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
  to.copy_from(from);
}

void Player::perform(const UploadCall& call, const Tables& tables) {
  Tensor to = tensor_of(call.to, tables, stream_for(call.stream, call.to, tables));
  std::vector<std::byte> bytes;
  bytes.reserve(call.to.bytes());
  for (const uint64_t piece : call.pieces) {
    const base::Bytes contents = pieces_.get(piece);
    bytes.insert(bytes.end(), contents.begin(), contents.end());
  }
  CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
  to.copy_from_bytes(bytes);
}

void Player::perform(const DownloadCall& call, const Tables& tables) {
  device::StreamState& stream = stream_for(call.stream, call.from, tables);
  const Tensor from = tensor_of(call.from, tables, stream);
  const auto room = host_room(from.bytes(), stream.device());
  CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
  from.copy_to_bytes(room);
}

}  // namespace kymo::capture
