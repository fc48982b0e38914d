#include "collect/flight_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "record/segment.h"
#include "trace/append_file.h"

namespace kymo::collect {
namespace {

constexpr std::string_view kPrefix = "flight-";
constexpr size_t kSessionDigits = 32;

std::string stem_of_this_process(const std::string& folder, const std::string& session) {
  const auto pid = static_cast<uint32_t>(getpid());
  return base::format("{}/{}{}-{}-{}-", folder, kPrefix, session, pid, record::process_identity(pid));
}

struct Name {
  std::string stem;  // the common prefix of all names of one flight recorder
  std::string session;
  uint32_t pid;
  unsigned long long identity;
};

std::optional<Name> parse(const std::string& name) {
  constexpr size_t kNumbers = kPrefix.size() + kSessionDigits;
  if (!name.starts_with(kPrefix) || name.size() < kNumbers) return std::nullopt;
  Name parsed{};
  int used = 0;
  if (std::sscanf(name.c_str() + kNumbers, "-%u-%llu-%n", &parsed.pid, &parsed.identity, &used) != 2 || used == 0)
    return std::nullopt;
  parsed.session = name.substr(kPrefix.size(), kSessionDigits);
  parsed.stem = name.substr(0, kNumbers + static_cast<size_t>(used));
  return parsed;
}

}  // namespace

std::string flight_file(const std::string& folder, const std::string& session, unsigned number) {
  return base::format("{}{:08}", stem_of_this_process(folder, session), number);
}

std::string flight_link(const std::string& folder, const std::string& session) {
  return stem_of_this_process(folder, session) + "trace";
}

void AbandonedFlight::remove() const noexcept {
  for (const std::string& file : files) unlink(file.c_str());
  if (!link.empty()) unlink(link.c_str());
}

std::vector<AbandonedFlight> abandoned_flights(const std::vector<std::string>& folders, const std::string& session) {
  struct Found {
    AbandonedFlight flight;
    bool is_alive = false;
  };
  std::map<std::string, Found> flights;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      const auto name = parse(entry.path().filename());
      if (!name || (!session.empty() && name->session != session)) continue;
      Found& found = flights[folder + "/" + name->stem];
      AbandonedFlight& flight = found.flight;
      flight.session = name->session;
      if (entry.is_symlink(ignored)) {
        flight.link = entry.path();
        flight.trace = std::filesystem::read_symlink(entry.path(), ignored);
      } else {
        flight.files.push_back(entry.path());
        // For a process in another PID namespace: it still holds its newest file.
        found.is_alive |= trace::is_being_written(entry.path());
      }
      found.is_alive |= record::process_identity(name->pid) == name->identity;
    }
  }
  std::vector<AbandonedFlight> abandoned;
  for (auto& [stem, found] : flights) {
    if (found.is_alive) continue;
    std::sort(found.flight.files.begin(), found.flight.files.end());
    abandoned.push_back(std::move(found.flight));
  }
  return abandoned;
}

}  // namespace kymo::collect
