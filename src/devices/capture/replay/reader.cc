#include "capture/replay/reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "capture/checksum.h"
#include "capture/format.h"
#include "capture/replay/manifest_reader.h"
#include "device/language.h"

namespace kymo::capture {
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

}  // namespace kymo::capture
