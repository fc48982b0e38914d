#include "capture/replay/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/clock_map.h"
#include "base/quantile.h"
#include "base/text.h"
#include "capture/call_timer.h"
#include "capture/files.h"
#include "device/devices.h"
#include "device/language.h"
#include "device/library.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "device/value_bytes.h"
#include "kymo/device.h"
#include "kymo/profiler.h"
#include "kymo/tensor.h"

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

KernelArgument list_argument(const ArgumentValue& value) {
  const auto list_of = [&]<class T>(T) -> KernelArgument {
    return std::span<const T>(reinterpret_cast<const T*>(value.list.data()), value.list.size() / sizeof(T));
  };
  return value.type == DType::Bool ? list_of(bool{}) : device::with_type(value.type, list_of);
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

// Makes the calls of a capture again: allocates its buffers, restores their contents, launches, fills and copies.
//
// Each call uses the stream with the same number as in the capture. A capture does not contain the program's own
// synchronisation between streams. Instead, if a buffer was used on one stream and is now used on another, the second
// stream waits for the first, on the device. Nothing else waits, and the host waits only to check results.

// Pieces, unpacked once, and kept while there is space for them.
class PieceCache {
 public:
  explicit PieceCache(const CaptureFile& capture) : capture_(capture) {}
  // valid until the next call
  base::Bytes get(uint64_t piece) {
    if (const auto kept = kept_.find(piece); kept != kept_.end()) return kept->second;
    passing_ = capture_.piece(piece);
    if (bytes_ + passing_.size() > kMaxKeptBytes) return passing_;
    bytes_ += passing_.size();
    return kept_[piece] = std::move(passing_);
  }

 private:
  const CaptureFile& capture_;
  std::unordered_map<uint64_t, std::vector<std::byte>> kept_;
  std::vector<std::byte> passing_;
  uint64_t bytes_ = 0;
};

class Player {
 public:
  // Opens the devices and compiles the shaders. `device` replaces all devices of the capture; empty: the original
  // devices. Throws if a device does not exist, or does not compile the language of a kernel.
  Player(const CaptureFile& capture, const std::string& device) : capture_(capture), pieces_(capture) {
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

  ~Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Called for each result with the current contents of the buffer, as a tensor of bytes.
  using Check = std::function<void(const ResultRecord& then, DType dtype, const device::Tensor& now)>;

  // Makes all calls once, and waits for them. `check` may be empty.
  void play(const Check& check) {
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

  const std::vector<device::DeviceState*>& devices() const { return devices_; }  // by the capture's numbers
  PieceCache& pieces() { return pieces_; }

 private:
  struct Buffer {
    std::shared_ptr<device::Storage> storage;  // allocated at its first use
    Pieces contents;                           // restored at that time
    device::StreamId stream = 0;               // the stream that used it last
  };

  void compile(const Tables& tables) {
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

  void perform(const LaunchCall& call, const Tables& tables) {
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

  void perform(const FillCall& call, const Tables& tables) {
    Tensor to = tensor_of(call.to, tables, stream_for(call.stream, call.to, tables));
    CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
    to.fill(call.value);
  }

  void perform(const RandomCall& call, const Tables& tables) {
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

  void perform(const CopyCall& call, const Tables& tables) {
    device::StreamState& stream = stream_for(call.stream, call.from, tables);
    const Tensor from = tensor_of(call.from, tables, stream);
    Tensor to = tensor_of(call.to, tables, stream);
    CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
    to.copy_from(from);
  }

  void perform(const UploadCall& call, const Tables& tables) {
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

  void perform(const DownloadCall& call, const Tables& tables) {
    device::StreamState& stream = stream_for(call.stream, call.from, tables);
    const Tensor from = tensor_of(call.from, tables, stream);
    const auto room = host_room(from.bytes(), stream.device());
    CallTimer::instance().begin_call(next_call_++, CallTimer::Counts::Everything);
    from.copy_to_bytes(room);
  }

  void check_result(const ResultRecord& result, const Tables& tables, const Check& check) {
    const BufferState& buffer = tables.buffers[result.buffer];
    if (check && buffer.record.bytes != 0) {
      DeviceState& device = *devices_[buffer.record.device];
      device::StreamState& stream = go_to(buffers_[result.buffer].stream, device);
      check(result, buffer.dtype, bytes_of(use(result.buffer, tables, stream)));
    }
    if (result.freed) buffers_[result.buffer] = {};
  }

  device::StreamState& go_to(uint32_t stream, device::DeviceState& device) {
    device::StreamState& state = device.stream(static_cast<device::StreamId>(stream));
    device.set_current_stream(state);
    return state;
  }

  device::StreamState& stream_for(uint32_t stream, const TensorRef& tensor, const Tables& tables) {
    return go_to(stream, *devices_[tables.buffers[tensor.buffer].record.device]);
  }

  device::Tensor tensor_of(const TensorRef& reference, const Tables& tables, device::StreamState& stream) {
    const device::Shape shape(std::span(reference.sizes.data(), reference.dimensions));
    return {use(reference.buffer, tables, stream), reference.dtype, shape, reference.strides, reference.offset};
  }

  std::shared_ptr<device::Storage> use(uint32_t buffer, const Tables& tables, device::StreamState& stream) {
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

  void write_pieces(const device::Tensor& bytes, const Pieces& pieces) {
    int64_t at = 0;
    for (const uint64_t piece : pieces) {
      const base::Bytes contents = pieces_.get(piece);
      const int64_t end = at + static_cast<int64_t>(contents.size());
      bytes.slice(0, at, end).copy_from_bytes(contents);
      at = end;
    }
  }

  std::span<std::byte> host_room(size_t bytes, device::DeviceState& device) {
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

  const CaptureFile& capture_;
  PieceCache pieces_;
  std::vector<device::DeviceState*> devices_;
  std::vector<std::shared_ptr<device::LibraryState>> libraries_;
  std::vector<device::KernelState*> kernels_;
  std::vector<Buffer> buffers_;
  uint64_t next_call_ = 0;
  std::unordered_map<device::DeviceState*, device::HostBuffer> host_;
  std::vector<std::byte> unlocked_host_;
};

constexpr size_t kPiecesAtOnce = 16;

double as_double(DType type, base::Bytes list, size_t index) {
  return device::Number::of(type, list.data(), index).as_double;
}

bool is_close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// Compares the buffers of a replay with those of the program: bit by bit, or within a tolerance.
class Comparison {
 public:
  Comparison(PieceCache& pieces, double tolerance, ReplayReport& report)
      : pieces_(pieces), tolerance_(tolerance), report_(report) {}

  void add(const ResultRecord& then, DType dtype, const device::Tensor& now) {
    if (then.pieces.empty()) {
      ++report_.buffers_unknown;
      return;
    }
    ++report_.buffers_compared;
    Mismatch mismatch;
    mismatch.buffer = then.buffer;
    mismatch.dtype = dtype;
    mismatch.elements = now.bytes() / device::size_of(dtype);
    for (size_t i = 0; i < then.pieces.size(); i += kPiecesAtOnce) {
      const size_t begin = i * kPieceBytes, end = std::min(now.bytes(), begin + kPiecesAtOnce * kPieceBytes);
      host_.resize(end - begin);
      now.slice(0, static_cast<int64_t>(begin), static_cast<int64_t>(end)).copy_to_bytes(host_);
      base::Bytes rest = host_;
      for (size_t j = i; j < std::min(then.pieces.size(), i + kPiecesAtOnce); ++j) {
        const base::Bytes piece = pieces_.get(then.pieces[j]);
        compare(piece, rest.first(piece.size()), j * kPieceBytes / device::size_of(dtype), mismatch);
        rest = rest.subspan(piece.size());
      }
    }
    if (mismatch.differing != 0) report_.mismatches.push_back(std::move(mismatch));
  }

 private:
  void compare(base::Bytes then, base::Bytes now, uint64_t first_element, Mismatch& mismatch) const {
    if (std::memcmp(then.data(), now.data(), then.size()) == 0) return;
    const DType type = mismatch.dtype;
    const size_t size = device::size_of(type);
    const bool tolerant = tolerance_ > 0 && device::is_floating(type);
    for (size_t i = 0; (i + 1) * size <= then.size(); ++i) {
      if (std::memcmp(then.data() + i * size, now.data() + i * size, size) == 0) continue;
      if (tolerant && is_close(as_double(type, then, i), as_double(type, now, i), tolerance_)) continue;
      if (mismatch.differing++ != 0) continue;
      mismatch.element = first_element + i;
      mismatch.then = device::Number::of(type, then.data(), i).text();
      mismatch.now = device::Number::of(type, now.data(), i).text();
    }
  }

  PieceCache& pieces_;
  const double tolerance_;
  ReplayReport& report_;
  std::vector<std::byte> host_;
};

void check_kernel(const CaptureFile& capture, const std::string& wanted) {
  if (wanted.empty()) return;
  std::set<std::string> names;
  for (const KernelRecord& kernel : capture.tables().kernels) names.insert(kernel.name);
  if (names.contains(wanted)) return;
  throw Error(names.empty() ? base::format("{} contains no kernel", capture.folder())
                            : base::format("there is no kernel \"{}\" in {}; it has: {}", wanted, capture.folder(),
                                           base::join(names, ", ")));
}

uint64_t sum_of(const std::vector<uint64_t>& times) { return std::accumulate(times.begin(), times.end(), uint64_t{0}); }

void finish_rows(std::vector<ReplayRow>& rows) {
  for (ReplayRow& row : rows) {
    std::ranges::sort(row.times);
    std::ranges::sort(row.original);
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return sum_of(a.times) > sum_of(b.times); });
}

// The rows of the report, by their key.
class RowsByName {
 public:
  uint32_t find(const std::string& name, bool is_named) {
    const auto [found, is_new] = known_.try_emplace({is_named, name}, static_cast<uint32_t>(rows.size()));
    if (is_new) {
      rows.emplace_back();
      rows.back().name = name;
      rows.back().is_named = is_named;
    }
    return found->second;
  }
  std::vector<ReplayRow> rows;

 private:
  std::map<std::pair<bool, std::string>, uint32_t> known_;
};

// Adds the times of one run to the rows of their calls.
class ReplayRows {
 public:
  explicit ReplayRows(const CaptureFile& capture) : original_(capture.device_times()) {
    capture.for_each([&](const Record& record, const Tables& tables) {
      if (const auto* operation = std::get_if<OperationRecord>(&record)) {
        row_of_operation_.push_back(operations_.find(operation->name, true));
        ReplayRow& row = operations_.rows[row_of_operation_.back()];
        ++row.calls;
        row.flops += operation->flops;
      }
      if (!is_call(record)) return;
      const CallName call = name_of_call(record, tables);
      calls_.push_back({rows_.find(call.name, call.is_kernel), operation_of(record)});
      ReplayRow& row = rows_.rows[calls_.back().row];
      ++row.calls;
      row.bytes += call.bytes;
    });
    sort_in(original_, &ReplayRow::original);
  }

  void add_run(std::vector<uint64_t> times) {
    times.resize(calls_.size());
    sort_in(times, &ReplayRow::times);
    uint64_t now = 0;
    original_ns_ = 0;
    for (size_t call = 0; call < calls_.size(); ++call) {
      if (times[call] == 0 || original_[call] == 0) continue;
      now += times[call];
      original_ns_ += original_[call];
    }
    runs_.push_back(now);
  }

  void give(ReplayReport& report, const std::string& kernel) {
    report.runs = runs_.size();
    report.calls = calls_.size();
    report.original_ns = original_ns_;
    report.replayed_ns = base::round_ns(base::quantile(runs_, 0.5));
    report.rows = std::move(rows_.rows);
    report.operations = std::move(operations_.rows);
    if (!kernel.empty()) {
      std::erase_if(report.rows, [&](const auto& row) { return !row.is_named || row.name != kernel; });
      report.operations.clear();
    }
    finish_rows(report.rows);
    finish_rows(report.operations);
  }

 private:
  struct Call {
    uint32_t row = 0, operation = 0;  // operation: its number plus 1
  };

  static uint32_t operation_of(const Record& record) {
    return std::visit(
        [](const auto& one) {
          if constexpr (kIsCall<std::decay_t<decltype(one)>>) return one.operation;
          return uint32_t{0};
        },
        record);
  }

  void sort_in(const std::vector<uint64_t>& times, std::vector<uint64_t> ReplayRow::*into) {
    std::vector<uint64_t> of_operations(row_of_operation_.size());
    for (size_t call = 0; call < calls_.size(); ++call) {
      if (times[call] == 0) continue;
      (rows_.rows[calls_[call].row].*into).push_back(times[call]);
      if (calls_[call].operation != 0) of_operations[calls_[call].operation - 1] += times[call];
    }
    for (size_t i = 0; i < of_operations.size(); ++i)
      if (of_operations[i] != 0) (operations_.rows[row_of_operation_[i]].*into).push_back(of_operations[i]);
  }

  const std::vector<uint64_t>& original_;
  RowsByName rows_, operations_;
  std::vector<Call> calls_;
  std::vector<uint32_t> row_of_operation_;
  std::vector<uint64_t> runs_;
  uint64_t original_ns_ = 0;
};

}  // namespace

uint64_t ReplayRow::total_of(uint64_t runs) const { return times.size() == calls * runs ? sum_of(times) : 0; }

double ReplayRow::gigabytes_per_second(uint64_t runs) const {
  const uint64_t ns = total_of(runs);
  return ns == 0 ? 0 : static_cast<double>(bytes) * static_cast<double>(runs) / static_cast<double>(ns);
}

double ReplayRow::gigaflops(uint64_t runs) const {
  const uint64_t ns = total_of(runs);
  return ns == 0 ? 0 : flops * static_cast<double>(runs) / static_cast<double>(ns);
}

ReplayReport replay(const CaptureFile& capture, const ReplayOptions& options) {
  if (profiler::is_capturing()) throw Error("a capture is running: stop it before you replay one");
  check_kernel(capture, options.kernel);
  Player player(capture, options.device);
  ReplayReport report;
  for (const device::DeviceState* device : player.devices()) {
    if (std::ranges::find(report.devices, device->name()) == report.devices.end())
      report.devices.push_back(device->name());
  }
  if (options.verify) {
    Comparison comparison(player.pieces(), options.tolerance, report);
    player.play(
        [&](const ResultRecord& then, DType dtype, const device::Tensor& now) { comparison.add(then, dtype, now); });
    report.verified = true;
  }
  ReplayRows rows(capture);
  for (uint64_t run = 0; run < options.repeat; ++run) {
    CallTimer::instance().start();
    try {
      player.play({});
    } catch (...) {
      CallTimer::instance().stop();
      throw;
    }
    rows.add_run(CallTimer::instance().stop());
  }
  rows.give(report, options.kernel);
  return report;
}

}  // namespace kymo::capture
