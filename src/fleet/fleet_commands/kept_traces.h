// The traces of a folder for `kymo watch`: which are new, and which may be deleted.
//
// A file that is copied into the folder grows for a while, and the part that is there reads as a trace too. So a file
// is pushed only when it was unchanged for some time. If its end is missing, that time is longer: a copy may pause, or
// the recording may really have ended like this.
//
// A trace may be deleted only if the server has exactly this content: the file is the same one, with the same size and
// times, as when it was pushed, and the server still has it. A damaged trace is never deleted: the server has only the
// parts that can be read. One whose end is missing stays for a day: a copy that paused may go on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"

namespace kymo::cli {

// Whether a file may be a trace of another tool, by its name: *.json, *.json.gz.
bool may_be_foreign_trace(const std::string& path);

// Calls `see` for what is in a folder and in its folders, and `hidden` for each of these that may not be read, whose
// content is left out. Links are not followed. Throws kymo::Error if the folder itself cannot be read.
void walk_folder(const std::string& folder, const std::function<void(const std::filesystem::directory_entry&)>& see,
                 const std::function<void(const std::string& path)>& hidden);

class KeptTraces {
 public:
  explicit KeptTraces(std::string folder) : folder_(std::move(folder)) {}

  static constexpr std::chrono::milliseconds kSettled{1'000};
  static constexpr std::chrono::seconds kSettledWithoutEnd{60};
  static constexpr std::chrono::hours kKeptWithoutEnd{24};

  // Looks at the folder and the folders in it. Throws kymo::Error if it cannot be read. How long a file has not changed
  // is measured by watching it, so that a date that is set does not matter. The date is compared with the times of
  // files.
  struct Now {
    std::chrono::steady_clock::time_point time;
    std::chrono::system_clock::time_point date;
  };
  void look(const Now& now);
  // What is not pushed, and why, a line each: links to folders and traces, which are not followed; what has the name of
  // a trace and is not a file, such as a FIFO; folders that may not be read; and that there are traces of other tools.
  const std::set<std::string>& ignored() const { return ignored_; }
  bool has_unreadable() const { return has_unreadable_; }

  // The files that have neither been pushed nor refused as they are now, oldest first: those that two looks at least
  // kSettled apart found unchanged.
  std::vector<std::string> to_push() const { return new_files(true); }
  // The others.
  std::vector<std::string> unsettled() const { return new_files(false); }
  // True if the rest of a file that is damaged, or whose end is missing, may still come.
  bool may_still_arrive(const std::string& file) const;
  // Refused: it, or a part of it, cannot be read. It is not tried again before it changes, and never deleted.
  enum class State : uint8_t { New, Pushed, PushedWithoutEnd, Refused };
  void set(const std::string& file, State state);
  // It is not there any more: somebody deleted it, such as another watch.
  void set_gone(const std::string& file);

  // Deletes pushed files, the oldest first: those that are older than `seconds`, and while all files together are
  // larger than `bytes`. Before that `push_again` gets them as new files: somebody may have deleted them on the server.
  // Those which it sets to Pushed, or to PushedWithoutEnd if they are old, are deleted. Returns them.
  // Throws what `push_again` throws.
  struct Limits {
    std::optional<uint64_t> bytes;
    std::optional<int64_t> seconds;
  };
  using PushAgain = std::function<void(const std::vector<std::string>& files)>;
  std::vector<std::string> remove(const Limits& limits, int64_t now_seconds, const PushAgain& push_again);

  // Why the last remove() could not delete a file; empty if it could.
  const std::string& not_deleted() const { return not_deleted_; }

  uint64_t files() const { return files_.size(); }
  uint64_t bytes() const { return bytes_; }
  // Files that are neither pushed nor refused.
  uint64_t waiting() const { return to_push().size() + unsettled().size(); }

 private:
  struct File {
    base::FileVersion version;
    State state = State::New;
    std::chrono::steady_clock::time_point first_seen;  // in this version
  };
  static std::optional<base::FileVersion> version_of(const std::string& path);
  bool may_be_deleted(const File& file) const;
  std::vector<std::string> new_files(bool settled) const;

  std::string folder_;
  std::map<std::string, File> files_;
  std::set<std::string> ignored_;
  bool has_unreadable_ = false;
  std::string not_deleted_;
  uint64_t bytes_ = 0;
  Now now_;  // of the last look
};

}  // namespace kymo::cli
