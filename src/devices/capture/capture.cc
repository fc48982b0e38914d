// The capture of this process: the functions of kymo/profiler.h, and those that the runtime calls.
//
//   Recorder   one for the process: starts and stops captures, and passes each call on, under one lock
//   Session    one for a capture: converts calls with tensors and kernels to records with numbers
//   Writer     writes the records to the folder (capture/writer.h)
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "capture/call_timer.h"
#include "capture/files.h"
#include "capture/records.h"
#include "capture/writer.h"
#include "device/devices.h"
#include "device/library.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "device/work_capture.h"
#include "kymo/profiler.h"

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

// One capture while it is recorded.
//
// A buffer gets its number when a call first uses it, and its contents at that time are stored, unless the call
// overwrites all of it. Its contents when it is freed, or at the end, are stored as its result. Both wait for the
// device. One thread at a time; the caller makes sure that the device calls made here are not captured.
class Session {
 public:
  // Throws WriteError, like every function here, for example if the disk is full.
  Session(std::string folder, std::string name)
      : writer_(std::move(folder)), name_(std::move(name)), started_ns_(base::realtime_ns()) {}

  void launch(const device::KernelState& kernel, const device::Launch& launch, std::span<const KernelArgument> given,
              device::StreamState& stream) {
    LaunchCall call;
    call.kernel = kernel_number(kernel);
    call.stream = stream.id();
    call.threads = launch.threads;
    call.group = launch.group;
    for (const KernelArgument& argument : given) call.arguments.push_back(value_of(argument));
    add_call(std::move(call), true);
  }

  void fill(const Tensor& to, double value) { add_call(FillCall{current_stream(to), reference(to, true), value}); }

  void fill_random(const Tensor& to, const device::RandomFill& fill) {
    add_call(RandomCall{current_stream(to), reference(to, true), fill});
  }

  void copy(const Tensor& from, const Tensor& to) {
    CopyCall call{current_stream(to), reference(from), {}};
    call.to = reference(to, true);
    add_call(call);
  }

  void upload(const Tensor& to, std::span<const std::byte> from) {
    UploadCall call{current_stream(to), reference(to, true), {}};
    writer_.store(from, call.pieces);
    add_call(std::move(call));
  }

  void download(const Tensor& from) { add_call(DownloadCall{current_stream(from), reference(from)}); }

  void freed(device::Storage& storage) {
    const auto known = buffers_.find(&storage);
    if (known == buffers_.end()) return;
    const uint32_t buffer = known->second;
    buffers_.erase(known);
    add_result(storage, buffer, true);
  }

  // The next calls of this thread are part of the operation; if operations are nested, of the innermost one.
  void begin_operation(std::string_view name, double flops) {
    const bool known = std::isfinite(flops) && flops > 0;
    writer_.add(OperationRecord{std::string(name), known ? flops : 0});
    operations_[std::this_thread::get_id()].push_back(operation_count_++);
  }

  void end_operation() {
    const auto open = operations_.find(std::this_thread::get_id());
    if (open == operations_.end()) return;  // it began before the capture
    open->second.pop_back();
    if (open->second.empty()) operations_.erase(open);
  }

  // Stores the results and completes the folder.
  void finish(std::span<const uint64_t> device_times) {
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

  void abandon() { writer_.abandon(); }
  // The first error of a device during the capture; empty: none.
  const std::string& problem() const { return problem_; }
  void note_problem(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

 private:
  struct KernelEntry {
    uint32_t number = 0;
    uint64_t source = 0;  // hash of the source: another library may reuse the address
  };
  uint32_t device_number(device::DeviceState& device) {
    const auto [known, is_new] = devices_.try_emplace(&device, static_cast<uint32_t>(devices_.size()));
    if (is_new) writer_.add(DeviceRecord{device.name(), device.info().name, device.info().driver});
    return known->second;
  }

  uint32_t library_number(const device::LibraryState& library, uint64_t source) {
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

  uint32_t kernel_number(const device::KernelState& kernel) {
    const uint64_t source = hash_of(*kernel.library);
    KernelEntry& entry = kernels_[&kernel];
    if (entry.source == source && entry.number < kernel_count_) return entry.number;
    const uint32_t library = library_number(*kernel.library, source);
    writer_.add(KernelRecord{library, std::string(kernel.name)});
    entry = {kernel_count_++, source};
    return entry.number;
  }

  uint32_t buffer_number(device::Storage& storage, bool overwritten) {
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

  TensorRef reference(const device::Tensor& tensor, bool overwritten = false) {
    TensorRef reference;
    reference.buffer = buffer_number(*tensor.storage(), overwritten && covers_its_storage(tensor));
    reference.offset = tensor.offset();
    reference.dtype = tensor.dtype();
    reference.dimensions = static_cast<uint8_t>(tensor.shape().dimensions());
    std::ranges::copy(tensor.shape().sizes(), reference.sizes.begin());
    std::ranges::copy(tensor.strides(), reference.strides.begin());
    return reference;
  }

  ArgumentValue value_of(const KernelArgument& argument) {
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

  void add_call(Record call, bool is_launch = false) {
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

  // Empty if the device does not return it. Any stream may be writing it, so this waits for all streams.
  Pieces contents_of(device::Storage& storage) {
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

  void add_result(device::Storage& storage, uint32_t buffer, bool freed) {
    writer_.add(ResultRecord{buffer, freed, contents_of(storage)});
  }

  Writer writer_;
  std::string name_, problem_;
  uint64_t started_ns_ = 0;
  std::unordered_map<device::DeviceState*, uint32_t> devices_;
  std::unordered_map<device::DeviceState*, uint32_t> empty_buffers_;  // tensors without bytes share one per device
  std::unordered_map<uint64_t, uint32_t> libraries_;                  // by source and device
  std::unordered_map<const device::KernelState*, KernelEntry> kernels_;
  std::unordered_map<device::Storage*, uint32_t> buffers_;
  std::map<std::thread::id, std::vector<uint32_t>> operations_;  // the open operations of each thread, innermost last
  uint32_t kernel_count_ = 0, buffer_count_ = 0, operation_count_ = 0;
  std::vector<std::byte> host_;
};

constexpr size_t kLongestName = 200;
constexpr uint32_t kMaxNumbersTried = 100'000;

std::string folder_name(uint32_t number, std::string_view name) {
  return base::format("{:04}-{}{}", number, name, kSuffix);
}

bool is_allowed_by(base::Variable variable) {
  const char* value = base::environment(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::string wrong_with(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.size() > kLongestName) return base::format("the name is longer than {} characters", kLongestName);
  if (name.find('/') != std::string_view::npos)
    return "the name contains '/': the folder is always created in the current one";
  if (std::ranges::any_of(name, base::is_control)) return "the name contains control characters";
  return {};
}

// Everything that is captured takes one lock. The capture contains the calls in the order in which they took it.
class Recorder final : public device::WorkCapture {
 public:
  static Recorder& instance() {
    static auto& one = *new Recorder;
    return one;
  }

  void start(std::string_view name) {
    std::lock_guard lock(mutex_);
    std::string folder = folder_name(number_++, name);
    const auto refuse = [&](std::string_view reason) {
      throw Error(base::format("cannot capture into {}: {}", base::without_controls(folder), reason));
    };
    if (const std::string wrong = wrong_with(name); !wrong.empty()) refuse(wrong);
    if (!profiler::is_capture_enabled())
      refuse("capturing is not enabled: set KYMO_CAPTURE_ENABLED=1 in the environment of the program");
    if (is_capturing()) refuse("a capture is already running, into " + folder_);
    watch_forks();
    const uint32_t last = number_ + kMaxNumbersTried;
    while (session_ == nullptr) {
      try {
        session_ = std::make_unique<Session>(folder, std::string(name));
      } catch (const FolderExists& error) {
        if (number_ == last) refuse(error.what());
        folder = folder_name(number_++, name);
      } catch (const Error& error) {
        refuse(error.what());
      }
    }
    folder_ = folder;
    failed_.clear();
    is_capturing_ = true;
    CallTimer::instance().start();
    device::set_work_capture(this);
  }

  void stop() {
    std::lock_guard lock(mutex_);
    if (!is_capturing()) return;
    const device::CaptureScope own;
    CallTimer::instance().wait_until_queued();
    std::string wrong;
    for (device::DeviceState* device : device::open_devices()) {
      try {
        if (!device::forked_with_devices) device->synchronize();
      } catch (const Error& error) {
        if (session_ != nullptr) session_->note_problem(error.what());
        wrong = error.what();
      }
    }
    const auto times = CallTimer::instance().stop();
    is_capturing_ = false;
    const std::unique_ptr<Session> session = std::move(session_);
    try {
      if (session != nullptr) {
        session->finish(times);
        if (wrong.empty()) wrong = session->problem();
      }
    } catch (const std::exception& error) {
      failed_ = error.what();
    }
    // Not earlier: a buffer that is freed in the meantime waits until its result is stored.
    device::set_work_capture(nullptr);
    if (!failed_.empty()) throw Error(base::format("the capture into {} failed and was removed: {}", folder_, failed_));
    if (!wrong.empty()) throw DeviceError(base::format("while {} was captured: {}", folder_, wrong));
  }

  std::string folder() const {
    std::lock_guard lock(mutex_);
    return folder_;
  }

  bool is_capturing() const noexcept { return is_capturing_.load(std::memory_order_relaxed); }

  void launch(const device::KernelState& kernel, const device::Launch& launch,
              std::span<const device::KernelArgument> given, device::StreamState& stream) override {
    record([&](Session& session) { session.launch(kernel, launch, given, stream); });
  }
  void fill(const device::Tensor& to, double value) override {
    record([&](Session& session) { session.fill(to, value); });
  }
  void fill_random(const device::Tensor& to, const device::RandomFill& fill) override {
    record([&](Session& session) { session.fill_random(to, fill); });
  }
  void copy(const device::Tensor& from, const device::Tensor& to) override {
    record([&](Session& session) { session.copy(from, to); });
  }
  void upload(const device::Tensor& to, std::span<const std::byte> from) override {
    record([&](Session& session) { session.upload(to, from); });
  }
  void download(const device::Tensor& from) override {
    record([&](Session& session) { session.download(from); });
  }
  void freed(device::Storage& storage) noexcept override {
    record([&](Session& session) { session.freed(storage); });
  }
  void begin_operation(std::string_view name, double flops) override {
    record([&](Session& session) { session.begin_operation(name, flops); });
  }
  void end_operation() noexcept override {
    record([&](Session& session) { session.end_operation(); });
  }

 private:
  // The program must not notice errors: an error ends the capture, and stop() reports it.
  template <class Write>
  void record(Write&& write) noexcept {
    std::lock_guard lock(mutex_);
    if (session_ == nullptr) return;
    const device::CaptureScope own;
    try {
      write(*session_);
    } catch (const std::exception& error) {
      failed_ = error.what();
      session_.reset();
      CallTimer::instance().end_call();
    }
  }

  static void watch_forks() {
    static std::once_flag once;
    std::call_once(once, [] {
      pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                     [] {
                       instance().leave_to_parent();
                       instance().after_fork();
                     });
    });
  }

  void before_fork() {
    mutex_.lock();
    CallTimer::instance().before_fork();
  }
  void after_fork() {
    CallTimer::instance().after_fork();
    mutex_.unlock();
  }

  void leave_to_parent() noexcept {
    if (!is_capturing()) return;
    device::set_work_capture(nullptr);
    CallTimer::instance().abandon();
    is_capturing_ = false;
    if (session_ != nullptr) session_->abandon();
    session_.reset();
  }

  mutable std::mutex mutex_;
  std::unique_ptr<Session> session_;  // null during a capture: the capture failed
  std::atomic<bool> is_capturing_{false};
  std::string folder_, failed_;
  uint32_t number_ = 0;  // of the next folder
};

}  // namespace
}  // namespace kymo::capture

namespace kymo::profiler {

bool is_capture_enabled() noexcept {
  return capture::is_allowed_by("KYMO_CAPTURE_ENABLED") || capture::is_allowed_by("MTL_CAPTURE_ENABLED");
}

bool is_capturing() noexcept { return capture::Recorder::instance().is_capturing(); }
void start_capture(std::string_view name) { capture::Recorder::instance().start(name); }
std::string capture_folder() { return capture::Recorder::instance().folder(); }
void stop_capture() { capture::Recorder::instance().stop(); }

Capture::~Capture() {
  try {
    close();
  } catch (const std::exception&) {
    // Callers that need the error call close().
  }
}

void Capture::close() {
  if (!open_) return;
  open_ = false;
  stop_capture();
}

}  // namespace kymo::profiler
