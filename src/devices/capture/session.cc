#include "capture/session.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "base/hash.h"
#include "capture/call_timer.h"
#include "device/stream_state.h"

namespace kymo::capture {
namespace {

using device::KernelArgument;
using device::Tensor;

constexpr size_t kReadBytes = size_t{16} << 20;  // max bytes of a buffer that are read at once

uint64_t hash_of(const device::LibraryState& library) {
  const device::LibrarySource& source = *library.source();
  base::ByteWriter all;
  all.fixed(base::hash(base::as_bytes(source.text)));
  all.fixed(std::bit_cast<uint64_t>(&library.device()));
  all.byte(static_cast<uint8_t>(source.language));
  all.string(source.options.file);
  all.varint(source.options.options.size());
  for (const std::string& option : source.options.options) all.string(option);
  for (const auto& [name, value] : source.options.constants) {
    all.string(name);
    all.fixed(std::bit_cast<uint64_t>(value));
  }
  for (const auto& [name, text] : source.options.headers) {
    all.string(name);
    all.string(text);
  }
  all.byte(source.options.tensor_cores ? 1 : 0);
  return base::hash(all.bytes());
}

bool covers_its_storage(const Tensor& tensor) {
  return tensor.offset() == 0 && tensor.is_contiguous() && tensor.bytes() == tensor.storage()->bytes();
}

uint32_t current_stream(const Tensor& tensor) { return tensor.device().state().current_stream().id(); }

}  // namespace

Session::Session(std::string folder, std::string name)
    : writer_(std::move(folder)), name_(std::move(name)), started_ns_(base::realtime_ns()) {}

void Session::note_problem(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

// ---- Numbers -------------------------------------------------------------------------------------------------------

uint32_t Session::device_number(device::DeviceState& device) {
  const auto [known, is_new] = devices_.try_emplace(&device, static_cast<uint32_t>(devices_.size()));
  if (is_new) writer_.add(DeviceRecord{device.name(), device.info().name, device.info().driver});
  return known->second;
}

uint32_t Session::library_number(const device::LibraryState& library, uint64_t source) {
  if (const auto known = libraries_.find(source); known != libraries_.end()) return known->second;
  LibraryRecord record;
  record.device = device_number(library.device());
  record.language = library.source()->language;
  record.shader = writer_.add_shader(record.language, library.source()->text);
  record.options = library.source()->options;
  writer_.add(record);
  const auto number = static_cast<uint32_t>(libraries_.size());
  libraries_.emplace(source, number);
  return number;
}

uint32_t Session::kernel_number(const device::KernelState& kernel) {
  const uint64_t source = hash_of(*kernel.library);
  KernelEntry& entry = kernels_[&kernel];
  if (entry.source == source && entry.number < kernel_count_) return entry.number;
  const uint32_t library = library_number(*kernel.library, source);
  writer_.add(KernelRecord{library, std::string(kernel.name)});
  entry = {kernel_count_++, source};
  return entry.number;
}

uint32_t Session::buffer_number(device::Storage& storage, bool overwritten) {
  // Storages without memory do not report when they are freed: they share one number.
  const bool has_memory = storage.bytes() != 0;
  if (has_memory) {
    if (const auto known = buffers_.find(&storage); known != buffers_.end()) return known->second;
  } else if (const auto known = empty_buffers_.find(&storage.device()); known != empty_buffers_.end()) {
    return known->second;
  }
  writer_.add(BufferRecord{device_number(storage.device()), storage.bytes()});
  const uint32_t number = buffer_count_++;
  if (has_memory)
    buffers_.emplace(&storage, number);
  else
    empty_buffers_.emplace(&storage.device(), number);
  if (has_memory && !overwritten) {
    if (Pieces pieces = contents_of(storage); !pieces.empty()) writer_.add(ContentsRecord{number, std::move(pieces)});
  }
  return number;
}

TensorRef Session::reference(const Tensor& tensor, bool overwritten) {
  TensorRef reference;
  reference.buffer = buffer_number(*tensor.storage(), overwritten && covers_its_storage(tensor));
  reference.offset = tensor.offset();
  reference.dtype = tensor.dtype();
  reference.dimensions = static_cast<uint8_t>(tensor.shape().dimensions());
  std::ranges::copy(tensor.shape().sizes(), reference.sizes.begin());
  std::ranges::copy(tensor.strides(), reference.strides.begin());
  return reference;
}

// ---- Contents ------------------------------------------------------------------------------------------------------

// Empty if the device does not return it. Any stream may be writing it, so this waits for all streams.
Pieces Session::contents_of(device::Storage& storage) {
  Pieces pieces;
  try {
    storage.device().synchronize();
    const std::shared_ptr<device::Storage> borrowed(std::shared_ptr<void>(), &storage);
    for (size_t at = 0; at < storage.bytes(); at += kReadBytes) {
      const size_t size = std::min(kReadBytes, storage.bytes() - at);
      host_.resize(size);
      const Tensor part(borrowed, DType::U8, {static_cast<int64_t>(size)}, {1}, at);
      part.copy_to_bytes(host_);
      writer_.store(host_, pieces);
    }
  } catch (const WriteError&) {
    throw;
  } catch (const Error& error) {
    note_problem(error.what());
    pieces.clear();
  }
  return pieces;
}

void Session::add_result(device::Storage& storage, uint32_t buffer, bool freed) {
  writer_.add(ResultRecord{buffer, freed, contents_of(storage)});
}

void Session::freed(device::Storage& storage) {
  const auto known = buffers_.find(&storage);
  if (known == buffers_.end()) return;
  const uint32_t buffer = known->second;
  buffers_.erase(known);
  add_result(storage, buffer, true);
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

void Session::add_call(Record call, bool is_launch) {
  CallTimer::instance().begin_call(writer_.calls(),
                                   is_launch ? CallTimer::Counts::Kernels : CallTimer::Counts::Everything);
  if (const auto open = operations_.find(std::this_thread::get_id()); open != operations_.end()) {
    std::visit(
        [&](auto& one) {
          if constexpr (kIsCall<std::decay_t<decltype(one)>>) one.operation = open->second.back() + 1;
        },
        call);
  }
  writer_.add(call);
}

void Session::begin_operation(std::string_view name, double flops) {
  const bool known = std::isfinite(flops) && flops > 0;
  writer_.add(OperationRecord{std::string(name), known ? flops : 0});
  operations_[std::this_thread::get_id()].push_back(operation_count_++);
}

void Session::end_operation() {
  const auto open = operations_.find(std::this_thread::get_id());
  if (open == operations_.end()) return;  // it began before the capture
  open->second.pop_back();
  if (open->second.empty()) operations_.erase(open);
}

ArgumentValue Session::value_of(const KernelArgument& argument) {
  ArgumentValue value;
  value.kind = argument.kind();
  switch (argument.kind()) {
    case KernelArgument::Kind::Tensor:
      value.tensors.push_back(reference(argument.tensor()));
      break;
    case KernelArgument::Kind::Signed:
      value.bits = static_cast<uint64_t>(argument.as_signed());
      break;
    case KernelArgument::Kind::Unsigned:
      value.bits = argument.as_unsigned();
      break;
    case KernelArgument::Kind::Float:
      value.bits = std::bit_cast<uint64_t>(argument.as_double());
      break;
    case KernelArgument::Kind::List:
    case KernelArgument::Kind::Bytes: {
      value.type = argument.list_type();
      const auto* bytes = static_cast<const std::byte*>(argument.list());
      value.list.assign(bytes, bytes + argument.list_size() * device::size_of(value.type));
      break;
    }
    case KernelArgument::Kind::Tensors:
      for (const Tensor& tensor : argument.tensors()) value.tensors.push_back(reference(tensor));
      break;
  }
  return value;
}

void Session::launch(const device::KernelState& kernel, const device::Launch& launch,
                     std::span<const KernelArgument> given, device::StreamState& stream) {
  LaunchCall call;
  call.kernel = kernel_number(kernel);
  call.stream = stream.id();
  call.threads = launch.threads;
  call.group = launch.group;
  for (const KernelArgument& argument : given) call.arguments.push_back(value_of(argument));
  add_call(std::move(call), true);
}

void Session::fill(const Tensor& to, double value) {
  add_call(FillCall{current_stream(to), reference(to, true), value});
}

void Session::fill_random(const Tensor& to, const device::RandomFill& fill) {
  add_call(RandomCall{current_stream(to), reference(to, true), fill});
}

void Session::copy(const Tensor& from, const Tensor& to) {
  CopyCall call{current_stream(to), reference(from), {}};
  call.to = reference(to, true);
  add_call(std::move(call));
}

void Session::upload(const Tensor& to, std::span<const std::byte> from) {
  UploadCall call{current_stream(to), reference(to, true), {}};
  writer_.store(from, call.pieces);
  add_call(std::move(call));
}

void Session::download(const Tensor& from) { add_call(DownloadCall{current_stream(from), reference(from)}); }

void Session::finish(std::span<const uint64_t> device_times) {
  std::vector<std::pair<uint32_t, device::Storage*>> in_order;
  for (const auto& [storage, number] : buffers_) in_order.emplace_back(number, storage);
  std::ranges::sort(in_order);
  for (const auto& [number, storage] : in_order) add_result(*storage, number, false);
  Manifest manifest;
  manifest.name = name_;
  manifest.started_ns = started_ns_;
  manifest.stopped_ns = base::realtime_ns();
  manifest.problem = problem_;
  writer_.finish(std::move(manifest), device_times);
}

}  // namespace kymo::capture
