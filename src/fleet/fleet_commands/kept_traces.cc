#include "fleet_commands/kept_traces.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/printable.h"
#include "base/text.h"

namespace kymo::cli {
std::optional<base::FileVersion> KeptTraces::version_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return base::version_of(status);
}

bool may_be_foreign_trace(const std::string& path) { return path.ends_with(".json") || path.ends_with(".json.gz"); }

void walk_folder(const std::string& folder, const std::function<void(const std::filesystem::directory_entry&)>& see,
                 const std::function<void(const std::string& path)>& hidden) {
  namespace fs = std::filesystem;
  const auto can_read = [](const fs::path& path) { return ::access(path.c_str(), R_OK | X_OK) == 0; };
  if (!can_read(folder)) throw base::file_error("read", folder, errno);
  std::error_code error, ignored;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    const bool is_folder = entry->is_directory(ignored) && !entry->is_symlink(ignored);
    if (!is_folder || can_read(entry->path()) || errno != EACCES) {
      see(*entry);
      continue;
    }
    hidden(entry->path());
    entry.disable_recursion_pending();
  }
  if (error && error != std::errc::no_such_file_or_directory) throw base::file_error("read", folder, error.value());
}

void KeptTraces::look(const Now& now) {
  std::map<std::string, File> found;
  bytes_ = 0;
  ignored_.clear();
  has_unreadable_ = false;
  now_ = now;
  const auto see = [&](const std::filesystem::directory_entry& entry) {
    std::error_code error;
    const std::string path = entry.path();
    const bool is_trace = entry.path().extension() == ".kymo";
    if (may_be_foreign_trace(path))  // once for all: there may be one for each rank and hour
      ignored_.insert(
          base::format("{} has traces of other tools (*.json), which are not pushed: 'kymo push {} URL' does",
                       base::printable(folder_), base::printable(folder_)));
    if (entry.is_symlink(error) && (is_trace || entry.is_directory(error))) {
      ignored_.insert(base::format("{} is a link, which is not followed: watch the folder that it leads to",
                                   base::printable(path)));
      return;
    }
    const auto version = is_trace ? version_of(path) : std::nullopt;
    if (!version) return;
    File& file = found[path];
    file.version = *version;
    file.first_seen = now.time;
    bytes_ += version->size;
    if (const auto known = files_.find(path); known != files_.end() && known->second.version == *version)
      file = known->second;
  };
  walk_folder(folder_, see, [&](const std::string& path) {
    ignored_.insert(base::format("cannot read the folder {}: its traces are not pushed", base::printable(path)));
    has_unreadable_ = true;
  });
  files_ = std::move(found);
}

std::vector<std::string> KeptTraces::new_files(bool settled) const {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const auto& [path, file] : files_)
    if (file.state == State::New && (now_.time - file.first_seen >= kSettled) == settled)
      found.emplace_back(file.version.modified_ns, path);
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

// The time of the file counts too: watch may have started after it came.
bool KeptTraces::may_still_arrive(const std::string& path) const {
  const auto file = files_.find(path);
  if (file == files_.end()) return false;
  const auto since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(now_.date.time_since_epoch());
  const auto age = since_1970 - std::chrono::nanoseconds(file->second.version.modified_ns);
  return now_.time - file->second.first_seen < kSettledWithoutEnd && age < kSettledWithoutEnd;
}

// A file that has changed since look() is new: what was pushed may be the part before.
void KeptTraces::set(const std::string& path, State state) {
  const auto file = files_.find(path);
  if (file == files_.end()) return;
  const auto version = version_of(path);
  if (!version)
    set_gone(path);
  else if (*version == file->second.version)
    file->second.state = state;
}

void KeptTraces::set_gone(const std::string& file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  bytes_ -= found->second.version.size;
  files_.erase(found);
}

// A date that was set back keeps files longer.
bool KeptTraces::may_be_deleted(const File& file) const {
  if (file.state != State::PushedWithoutEnd) return file.state == State::Pushed;
  const auto newest = std::chrono::nanoseconds(std::max(file.version.modified_ns, file.version.changed_ns));
  return now_.date.time_since_epoch() - newest >= kKeptWithoutEnd;
}

std::vector<std::string> KeptTraces::remove(const Limits& limits, int64_t now_seconds, const PushAgain& push_again) {
  not_deleted_.clear();
  std::vector<std::pair<int64_t, std::string>> pushed;
  for (const auto& [path, file] : files_)
    if (may_be_deleted(file)) pushed.emplace_back(file.version.modified_ns, path);
  std::sort(pushed.begin(), pushed.end());
  std::vector<std::string> chosen;
  uint64_t left = bytes_;
  for (const auto& [time_ns, path] : pushed) {
    const bool is_old = limits.seconds && now_seconds - time_ns / std::nano::den > *limits.seconds;
    const bool is_too_much = limits.bytes && left > *limits.bytes;
    if (!is_old && !is_too_much) continue;
    File& file = files_.at(path);
    file.state = State::New;
    left -= file.version.size;
    chosen.push_back(path);
  }
  if (!chosen.empty()) push_again(chosen);
  std::vector<std::string> removed;
  for (const std::string& path : chosen) {
    const auto file = files_.find(path);
    if (file == files_.end() || !may_be_deleted(file->second)) continue;
    const auto version = version_of(path);
    if (version && *version != file->second.version) continue;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {  // another watch may have deleted it
      not_deleted_ = base::file_error("delete", path, errno).what();
      continue;
    }
    set_gone(path);
    removed.push_back(path);
  }
  return removed;
}

}  // namespace kymo::cli
