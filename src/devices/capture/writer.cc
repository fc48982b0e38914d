#include "capture/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <system_error>

#include "base/text.h"

namespace kymo::capture {
namespace {

std::string reason(int error_number) { return std::generic_category().message(error_number); }

FileEntry entry_of(std::string_view name, const OutputFile& file) {
  return {std::string(name), file.size(), file.checksum()};
}

}  // namespace

Writer::Writer(std::string folder) : path_(std::move(folder)) {
  // The program may change its working directory later.
  parent_ = base::FileDescriptor(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent_ || ::mkdirat(parent_.get(), path_.c_str(), 0700) != 0) {
    const int error = errno;
    if (error == EEXIST) throw FolderExists("it exists already: move it, or capture in another folder");
    throw WriteError("it cannot be made: " + reason(error));
  }
  folder_ = base::FileDescriptor(::openat(parent_.get(), path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string shaders(kShadersName);
  if (!folder_ || ::mkdirat(folder_.get(), shaders.c_str(), 0700) != 0) {
    const int error = errno;
    ::unlinkat(parent_.get(), path_.c_str(), AT_REMOVEDIR);
    throw WriteError("it cannot be made: " + reason(error));
  }
  try {
    calls_file_.emplace(folder_, std::string(kCallsName), base::format("{}/{}", path_, kCallsName));
    contents_file_.emplace(folder_, std::string(kContentsName), base::format("{}/{}", path_, kContentsName));
    append_file_header(*calls_file_, kCallsMagic);
    contents_.emplace(*contents_file_);
  } catch (...) {
    remove();
    throw;
  }
}

Writer::~Writer() {
  if (!complete_) remove();
}

void Writer::remove() noexcept {
  for (const FileEntry& shader : shaders_) ::unlinkat(folder_.get(), shader.name.c_str(), 0);
  const std::string manifest = base::format("{}.part", kManifestName);
  for (const std::string_view name : {kCallsName, kContentsName, kTimesName, std::string_view(manifest)})
    ::unlinkat(folder_.get(), std::string(name).c_str(), 0);
  ::unlinkat(folder_.get(), std::string(kShadersName).c_str(), AT_REMOVEDIR);
  ::unlinkat(parent_.get(), path_.c_str(), AT_REMOVEDIR);
}

void Writer::abandon() {
  complete_ = true;
  calls_file_->abandon();
  contents_file_->abandon();
}

void Writer::add(const Record& record) {
  if (const auto* device = std::get_if<DeviceRecord>(&record)) devices_.push_back(*device);
  calls_ += is_call(record) ? 1 : 0;
  scratch_.clear();
  encode(record, scratch_);
  calls_file_->append(scratch_.bytes());
}

uint32_t Writer::add_shader(device::Language language, std::string_view text) {
  const auto number = static_cast<uint32_t>(shaders_.size());
  FileEntry& entry = shaders_.emplace_back();
  entry.name = shader_name(number, language, text);
  OutputFile file(folder_, entry.name, path_ + "/" + entry.name);
  file.append(base::as_bytes(text));
  file.close();
  entry.bytes = file.size();
  entry.checksum = file.checksum();
  return number;
}

void Writer::finish(Manifest manifest, std::span<const uint64_t> device_times) {
  calls_file_->close();
  contents_file_->close();
  OutputFile times(folder_, std::string(kTimesName), base::format("{}/{}", path_, kTimesName));
  append_file_header(times, kTimesMagic);
  std::vector<uint64_t> padded(device_times.begin(), device_times.end());
  padded.resize(calls_);
  times.append(std::as_bytes(std::span(padded)));
  times.close();

  manifest.kymo_version = KYMO_VERSION;
  manifest.calls = calls_;
  manifest.pieces = contents_->pieces();
  manifest.content_bytes = contents_->bytes();
  manifest.device_ns = std::accumulate(padded.begin(), padded.end(), uint64_t{0});
  manifest.devices = devices_;
  manifest.files = shaders_;
  manifest.files.push_back(entry_of(kCallsName, *calls_file_));
  manifest.files.push_back(entry_of(kContentsName, *contents_file_));
  manifest.files.push_back(entry_of(kTimesName, times));

  // Written under another name first, so that an incomplete manifest never exists.
  const std::string name(kManifestName), part = name + ".part";
  OutputFile file(folder_, part, path_ + "/" + name);
  file.append(base::as_bytes(manifest_text(manifest)));
  file.close();
  if (::renameat(folder_.get(), part.c_str(), folder_.get(), name.c_str()) != 0)
    throw WriteError(base::file_error("write", path_ + "/" + name, errno).what());
  complete_ = true;
}

}  // namespace kymo::capture
