#include "capture/replay/reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "capture/files.h"
#include "device/device_state.h"
#include "device/language.h"
#include "json/document.h"
#include "kymo/error.h"

namespace kymo::capture {
namespace {

template <class List>
void check_known(const List& list, uint32_t number, const char* what) {
  if (number >= list.size()) throw Error(base::format("there is no {} {}", what, number));
}

template <class List>
void check_room(const List& list, size_t max, const char* what) {
  if (list.size() >= max) throw Error(base::format("it has more than {} {}", max, what));
}

// The offset after the last byte of its elements. False: the tensor is too large for any buffer.
bool end_of_tensor(const TensorRef& tensor, uint64_t& end) {
  uint64_t last = 0, elements = 1;
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    const auto size = static_cast<uint64_t>(tensor.sizes[i]), stride = static_cast<uint64_t>(tensor.strides[i]);
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxBufferBytes) return false;
    uint64_t reach = 0;
    if (size > 1 && (__builtin_mul_overflow(size - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last)))
      return false;
  }
  if (elements == 0) {
    end = tensor.offset;
    return true;
  }
  return last <= kMaxBufferBytes && tensor.offset <= kMaxBufferBytes &&
         (end = tensor.offset + (last + 1) * device::size_of(tensor.dtype), true);
}

bool is_empty(const device::Extent& extent) { return extent.x == 0 || extent.y == 0 || extent.z == 0; }

std::string_view random_name(device::RandomFill::Kind kind) {
  constexpr std::string_view kNames[] = {"random uniform", "random normal", "random integers", "random bernoulli"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

void Tables::add(const Record& record) {
  std::visit(
      [&](const auto& one) {
        check(one);
        if constexpr (kIsCall<std::decay_t<decltype(one)>>) {
          if (one.operation > operations.size())
            throw Error(base::format("there is no operation {}", one.operation - 1));
          ++calls;
        }
      },
      record);
}

BufferState& Tables::live(uint32_t buffer) {
  check_known(buffers, buffer, "buffer");
  if (buffers[buffer].freed) throw Error(base::format("buffer {} is used after it was freed", buffer));
  return buffers[buffer];
}

uint32_t Tables::device_of(const TensorRef& tensor) { return live(tensor.buffer).record.device; }

void Tables::check_tensor(const TensorRef& tensor, uint32_t device) {
  BufferState& buffer = live(tensor.buffer);
  uint64_t end = 0;
  if (!end_of_tensor(tensor, end) || end > buffer.record.bytes)
    throw Error(base::format("a tensor reaches beyond buffer {} of {} bytes", tensor.buffer, buffer.record.bytes));
  if (tensor.offset % device::size_of(tensor.dtype) != 0)
    throw Error(base::format("a tensor of {} begins at byte {} of a buffer", name_of(tensor.dtype), tensor.offset));
  if (buffer.record.device != device) throw Error(base::format("buffer {} is on another device", tensor.buffer));
  buffer.dtype = tensor.dtype;
  buffer.used = true;
}

void Tables::check_stream(uint32_t stream) const {
  if (stream > device::kPoolStreams) throw Error(base::format("there is no stream {}", stream));
}

void Tables::check_pieces(const Pieces& pieces, uint64_t bytes) const {
  uint64_t all = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uint32_t size = piece_size_(pieces[i]);
    if (i + 1 < pieces.size() && size != kPieceBytes) throw Error("a short piece is not the last one of its contents");
    all += size;
  }
  if (all != bytes) throw Error(base::format("the contents have {} bytes instead of {}", all, bytes));
}

void Tables::check(const DeviceRecord& record) {
  check_room(devices, kMaxDevices, "devices");
  devices.push_back(record);
}

void Tables::check(const LibraryRecord& record) {
  check_known(devices, record.device, "device");
  check_room(libraries, kMaxLibraries, "libraries");
  libraries.push_back(record);
}

void Tables::check(const KernelRecord& record) {
  check_known(libraries, record.library, "library");
  check_room(kernels, kMaxLibraries, "kernels");
  kernels.push_back(record);
}

void Tables::check(const BufferRecord& record) {
  check_known(devices, record.device, "device");
  if (record.bytes > kMaxBufferBytes) throw Error(base::format("a buffer of {} bytes is too large", record.bytes));
  check_room(buffers, kMaxOthers, "buffers");
  buffers.push_back({record});
}

void Tables::check(const ContentsRecord& record) {
  const BufferState& buffer = live(record.buffer);
  if (buffer.used) throw Error(base::format("the contents of buffer {} come after its first use", record.buffer));
  check_pieces(record.pieces, buffer.record.bytes);
}

void Tables::check(const ResultRecord& record) {
  BufferState& buffer = live(record.buffer);
  if (!record.pieces.empty()) check_pieces(record.pieces, buffer.record.bytes);
  buffer.freed = true;
}

void Tables::check(const OperationRecord& record) {
  if (!std::isfinite(record.flops) || record.flops < 0)
    throw Error(base::format("an operation has {} flops, which is not possible", record.flops));
  check_room(operations, kMaxOthers, "operations");
  operations.push_back(record);
}

void Tables::check(const LaunchCall& call) {
  check_known(kernels, call.kernel, "kernel");
  check_stream(call.stream);
  if (is_empty(call.threads) || is_empty(call.group))
    throw Error(base::format("a launch of \"{}\" is without threads", kernels[call.kernel].name));
  const uint32_t device = libraries[kernels[call.kernel].library].device;
  for (const ArgumentValue& argument : call.arguments)
    for (const TensorRef& tensor : argument.tensors) check_tensor(tensor, device);
}

void Tables::check_only(uint32_t stream, const TensorRef& tensor) {
  check_stream(stream);
  check_tensor(tensor, device_of(tensor));
}

void Tables::check(const CopyCall& call) {
  check_stream(call.stream);
  const uint32_t device = device_of(call.from);
  check_tensor(call.from, device);
  check_tensor(call.to, device);
  const auto& from = call.from;
  const auto& to = call.to;
  if (from.dtype != to.dtype || from.dimensions != to.dimensions || from.sizes != to.sizes)
    throw Error("a copy is between tensors of two shapes or types");
}

void Tables::check(const UploadCall& call) {
  check_only(call.stream, call.to);
  check_pieces(call.pieces, call.to.bytes());
}

namespace {

constexpr size_t kChecksumDigits = 16;

uint64_t from_hex(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  if (text.size() != kChecksumDigits || std::from_chars(text.data(), end, value, 16).ptr != end)
    throw Error(base::format("\"{}\" is not a checksum", text));
  return value;
}

bool is_shader_name(std::string_view name) {
  if (!name.starts_with(kShadersName) || name.size() > 64) return false;
  name.remove_prefix(kShadersName.size());
  if (!name.starts_with('/')) return false;
  name.remove_prefix(1);
  if (name.empty() || name.starts_with('.')) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == std::string_view::npos;
}

}  // namespace

Manifest parse_manifest(std::string_view untrusted) {
  const size_t at = untrusted.rfind(kManifestEndMark);
  const std::string_view covered = untrusted.substr(0, at == std::string_view::npos ? 0 : at);
  if (at == std::string_view::npos || untrusted.substr(at) != manifest_end(covered))
    throw Error("its checksum is wrong");

  const json::Document document(untrusted);
  const json::Value root = document.root();
  if (root["format"].text("format") != kFormatName) throw Error("it is not the manifest of a capture");
  if (const uint64_t version = root["version"].number("version"); version != kFormatVersion)
    throw Error(base::format("it has version {}; this Kymo reads version {}", version, kFormatVersion));
  Manifest manifest;
  manifest.kymo_version = root["kymo"].text("kymo");
  manifest.name = root["name"].text("name");
  manifest.started_ns = root["started_ns"].number("started_ns");
  manifest.stopped_ns = root["stopped_ns"].number("stopped_ns");
  manifest.problem = root["problem"].text("problem");
  manifest.calls = root["calls"].number("calls");
  manifest.pieces = root["pieces"].number("pieces");
  manifest.content_bytes = root["content_bytes"].number("content_bytes");
  manifest.device_ns = root["device_ns"].number("device_ns");
  for (const json::Value& file : root["files"].list("files")) {
    FileEntry entry{std::string(file["name"].text("a file's name")), file["bytes"].number("a file's size"),
                    from_hex(file["xxh3"].text("a file's checksum"))};
    const bool known = entry.name == kCallsName || entry.name == kContentsName || entry.name == kTimesName ||
                       is_shader_name(entry.name);
    if (!known) throw Error(base::format("\"{}\" is not a file of a capture", entry.name));
    manifest.files.push_back(std::move(entry));
  }
  return manifest;
}

namespace {

constexpr size_t kStep = size_t{4} << 20;

std::vector<std::byte> read_all(const base::FileDescriptor& file, const std::string& path, uint64_t max) {
  const uint64_t size = base::size_of(file, path);
  if (size > max) throw Error(base::format("{} is too large: {} bytes, and the max is {}", path, size, max));
  std::vector<std::byte> bytes(size);
  bytes.resize(base::read_at(file, path, 0, bytes));
  return bytes;
}

}  // namespace

void walk_records(base::Bytes untrusted, Tables& tables,
                  const std::function<void(const Record& record, const Tables& so_far)>& visit) {
  base::ByteReader in(untrusted);
  while (in.left() != 0) {
    const size_t at = untrusted.size() - in.left();
    Record record;
    try {
      record = decode(in);
      tables.add(record);
    } catch (const Error& error) {
      throw Error(base::format("the record at byte {}: {}", at + kFileHeaderBytes, error.what()));
    }
    if (visit) visit(record, tables);
  }
}

CaptureFile::CaptureFile(std::string folder) : path_(std::move(folder)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  folder_ = base::FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) {
    if (errno == ENOTDIR) throw Error(base::format("{} is not a capture: a capture is a folder", path_));
    throw base::file_error("open", path_, errno);
  }
  const base::FileDescriptor manifest(
      ::openat(folder_.get(), std::string(kManifestName).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!manifest) {
    const bool has_calls = ::faccessat(folder_.get(), std::string(kCallsName).c_str(), F_OK, 0) == 0;
    if (errno == ENOENT || has_calls) {
      throw Error(has_calls ? base::format("{} is unfinished: the program ended before it stopped the capture", path_)
                            : base::format("{} is not a capture: it has no {}", path_, kManifestName));
    }
    throw base::file_error("read", path_ + "/" + std::string(kManifestName), errno);
  }
  const std::string manifest_path = path_ + "/" + std::string(kManifestName);
  const auto text = read_all(manifest, manifest_path, kMaxManifestBytes);
  try {
    manifest_ = parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()});
  } catch (const Error& error) {
    throw Error(base::format("{} is damaged: {}", manifest_path, error.what()));
  }

  for (const FileEntry& file : manifest_.files)
    if (file.name.starts_with(kShadersName)) shaders_.push_back(file);
  calls_ = read_checked(entry(kCallsName), kMaxCallsBytes);
  const auto times = read_checked(entry(kTimesName), kMaxCallsBytes);
  contents_ =
      std::make_unique<ContentsReader>(open_checked(entry(kContentsName)), base::format("{}/{}", path_, kContentsName));
  for (const FileEntry& shader : shaders_) open_checked(shader);

  check_file_header(calls_, kCallsMagic, base::format("{}/{}", path_, kCallsName));
  calls_.erase(calls_.begin(), calls_.begin() + kFileHeaderBytes);
  check_file_header(times, kTimesMagic, base::format("{}/{}", path_, kTimesName));
  times_.resize((times.size() - kFileHeaderBytes) / sizeof(uint64_t));
  if (!times_.empty()) std::memcpy(times_.data(), times.data() + kFileHeaderBytes, times_.size() * sizeof(uint64_t));

  tables_.emplace([this](uint64_t piece) { return contents_->size_of(piece); });
  try {
    walk_records(calls_, *tables_, nullptr);
    for (const LibraryRecord& library : tables_->libraries)
      if (library.shader >= shaders_.size()) throw Error(base::format("there is no shader {}", library.shader));
    if (times_.size() != tables_->calls || manifest_.calls != tables_->calls)
      throw Error(base::format("it has {} calls but {} times", tables_->calls, times_.size()));
  } catch (const Error& error) {
    throw Error(base::format("{} is damaged: {}", path_, error.what()));
  }
}

const FileEntry& CaptureFile::entry(std::string_view name) const {
  const auto found = std::ranges::find(manifest_.files, name, &FileEntry::name);
  if (found == manifest_.files.end()) throw Error(base::format("{} is damaged: it does not list {}", path_, name));
  return *found;
}

base::FileDescriptor CaptureFile::open_checked(const FileEntry& entry) const {
  const std::string path = path_ + "/" + entry.name;
  base::FileDescriptor file(
      ::openat(folder_.get(), entry.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) throw base::file_error("read", path, errno);
  const uint64_t size = base::size_of(file, path);
  if (size != entry.bytes)
    throw Error(base::format("{} is damaged: it has {} bytes, and should have {}", path, size, entry.bytes));
  Checksum checksum;
  std::vector<std::byte> step(std::min<uint64_t>(kStep, size));
  for (uint64_t at = 0; at < size;) {
    const size_t got = base::read_at(file, path, at, step);
    if (got == 0) break;
    checksum.add(base::Bytes(step).first(got));
    at += got;
  }
  if (checksum.value() != entry.checksum) throw Error(base::format("{} is damaged: its checksum is wrong", path));
  return file;
}

std::vector<std::byte> CaptureFile::read_checked(const FileEntry& entry, uint64_t max) const {
  const std::string path = path_ + "/" + entry.name;
  auto bytes = read_all(open_checked(entry), path, max);
  if (bytes.size() != entry.bytes) throw Error(base::format("{} was changed while it was read", path));
  return bytes;
}

std::string CaptureFile::shader_text(uint32_t number) const {
  const auto bytes = read_checked(shaders_.at(number), kMaxShaderBytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void CaptureFile::for_each(const std::function<void(const Record& record, const Tables& so_far)>& visit) const {
  Tables tables([this](uint64_t piece) { return contents_->size_of(piece); });
  walk_records(calls_, tables, visit);
}

CallName name_of_call(const Record& call, const Tables& tables) {
  if (const auto* launch = std::get_if<LaunchCall>(&call)) {
    CallName name{tables.kernels[launch->kernel].name, true, 0};
    for (const ArgumentValue& argument : launch->arguments)
      for (const TensorRef& tensor : argument.tensors) name.bytes += tensor.bytes();
    return name;
  }
  if (const auto* fill = std::get_if<FillCall>(&call)) return {"fill", false, fill->to.bytes()};
  if (const auto* fill = std::get_if<RandomCall>(&call))
    return {std::string(random_name(fill->fill.kind)), false, fill->to.bytes()};
  if (const auto* copy = std::get_if<CopyCall>(&call)) return {"copy", false, copy->to.bytes()};
  if (const auto* upload = std::get_if<UploadCall>(&call)) return {"upload", false, upload->to.bytes()};
  if (const auto* download = std::get_if<DownloadCall>(&call)) return {"download", false, download->from.bytes()};
  return {};
}

Summary summarise(const CaptureFile& capture) {
  Summary summary;
  std::map<std::tuple<bool, std::string, uint32_t>, CallSummary> calls;
  std::set<std::pair<uint32_t, uint32_t>> streams;
  uint64_t next_call = 0;
  const auto add = [&](const Record& record, const Tables& tables, uint32_t shader) {
    const CallName name = name_of_call(record, tables);
    CallSummary& call = calls[{!name.is_kernel, name.name, shader}];
    call.name = name.name;
    call.is_kernel = name.is_kernel;
    call.shader = shader;
    ++call.calls;
    call.tensor_bytes += name.bytes;
    const uint64_t time = capture.device_times()[next_call++];
    call.device_ns += time;
    call.timed_calls += time != 0 ? 1 : 0;
  };
  const auto device_of = [](const TensorRef& tensor, const Tables& tables) {
    return tables.buffers[tensor.buffer].record.device;
  };
  capture.for_each([&](const Record& record, const Tables& tables) {
    if (const auto* buffer = std::get_if<BufferRecord>(&record)) {
      ++summary.buffers;
      summary.buffer_bytes += buffer->bytes;
    } else if (const auto* result = std::get_if<ResultRecord>(&record)) {
      summary.freed += result->freed ? 1 : 0;
    }
    std::visit(
        [&](const auto& call) {
          using Call = std::decay_t<decltype(call)>;
          if constexpr (std::is_same_v<Call, LaunchCall>) {
            const LibraryRecord& library = tables.libraries[tables.kernels[call.kernel].library];
            streams.emplace(library.device, call.stream);
            add(record, tables, library.shader);
          } else if constexpr (kIsCall<Call>) {
            if constexpr (requires { call.to; })
              streams.emplace(device_of(call.to, tables), call.stream);
            else
              streams.emplace(device_of(call.from, tables), call.stream);
            add(record, tables, 0);
          }
        },
        record);
  });
  for (auto& [key, call] : calls) summary.calls.push_back(std::move(call));
  summary.streams = streams.size();
  for (const FileEntry& file : capture.manifest().files) summary.stored_bytes += file.bytes;
  return summary;
}

}  // namespace kymo::capture
