#include "sample/wake_ups.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file.h"
#include "kymo/error.h"

namespace kymo::sample {
namespace {

constexpr uint8_t kInInterrupt = 0x08 | 0x10 | 0x40;  // hardware, software, not maskable

// The kernel counts processes as seen from outside of all containers, and everything else here from inside.
bool is_outside_of_containers() {
  constexpr std::string_view kFirst = "pid:[4026531836]";
  std::array<char, 64> link;
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size());
  return length > 0 && std::string_view(link.data(), static_cast<size_t>(length)) == kFirst;
}

// tracefs: where it is mounted, or a mount of its own that nobody else sees.
base::FileDescriptor trace_files() {
  for (const char* const path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    base::FileDescriptor folder(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder && faccessat(folder.get(), "events", F_OK, 0) == 0) return folder;
  }
  const base::FileDescriptor files(static_cast<int>(syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!files || syscall(SYS_fsconfig, files.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return base::FileDescriptor(static_cast<int>(syscall(SYS_fsmount, files.get(), FSMOUNT_CLOEXEC, 0)));
}

// The number after `key` and a colon; nothing: there is none.
std::optional<uint64_t> number_after(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<WakeUpEvent> parse_wake_up_event(std::string_view format) {
  constexpr uint64_t kMaxOffset = 4096;
  const std::optional<uint64_t> number = number_after(format, "ID:");
  const auto offset_of = [&](std::string_view field) -> std::optional<uint64_t> {
    const size_t at = format.find(field);
    return at == std::string_view::npos ? std::nullopt : number_after(format.substr(at), "offset:");
  };
  const std::optional<uint64_t> flags = offset_of("common_flags;"), tid = offset_of("pid_t pid;");
  if (!number || !flags || !tid || *flags > kMaxOffset || *tid > kMaxOffset) return std::nullopt;
  return WakeUpEvent{*number, static_cast<uint32_t>(*flags), static_cast<uint32_t>(*tid)};
}

WakeUpEvent find_wake_up_event() {
  if (!is_outside_of_containers())
    throw NotAvailable("in a container, the kernel numbers threads in another way: run kymo outside");
  const base::FileDescriptor folder = trace_files();
  const base::FileDescriptor file(
      folder ? openat(folder.get(), "events/sched/sched_waking/format", O_RDONLY | O_CLOEXEC) : -1);
  std::array<char, 4096> text;
  const ssize_t length = file ? read(file.get(), text.data(), text.size()) : 0;
  if (length <= 0) throw NotAvailable("the kernel lets only root record them, and must have tracefs");
  if (const auto event = parse_wake_up_event({text.data(), static_cast<size_t>(length)})) return *event;
  throw NotAvailable("the kernel describes the event sched_waking in an unknown way");
}

Woken woken_thread(base::Bytes data, const WakeUpEvent& event) {
  if (data.size() <= event.flags_offset || data.size() < sizeof(uint32_t) ||
      data.size() - sizeof(uint32_t) < event.tid_offset)
    return {};
  return {base::load<uint32_t>(data.data() + event.tid_offset),
          (static_cast<uint8_t>(data[event.flags_offset]) & kInInterrupt) != 0};
}

bool WakeUpLimit::go_on(uint64_t count, uint64_t now_ns) {
  const uint64_t passed_ns = now_ns - std::min(now_ns, looked_ns_);
  looked_ns_ = now_ns;
  if (!is_on_) paused_ns_ += passed_ns;
  saved_ += static_cast<double>(passed_ns) / 1e9;
  saved_ = std::min(saved_, 1.0) - static_cast<double>(count) / static_cast<double>(kRate * processors_);
  is_on_ = saved_ >= (is_on_ ? 0 : 0.5);  // few long pauses: each change costs an interrupt of every processor
  return is_on_;
}

}  // namespace kymo::sample
