#include "sample/process_stacks.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "kymo/error.h"
#include "sample/address_space.h"
#include "sample/code_names.h"
#include "sample/python_process.h"
#include "sample/stack_finder.h"
#include "symbols/file_symbols.h"
#include "unwind/stack_tree.h"

namespace kymo::sample {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxStackBytes = 256 << 10, kMaxFrames = 1024, kMaxThreads = 1 << 16;
constexpr size_t kPage = 4096;
constexpr uint64_t kLongestStop = 2'000'000'000;

// Of /proc/TID/syscall: the number of the call that the thread is in, and its arguments.
struct Call {
  long number = -1;
  uint64_t arguments[6] = {};
};

// What is copied while the process stands still.
struct Copied {
  pid_t tid = 0;
  char state = '?';
  std::string name;
  Call call;
  CopiedStack registers;
  std::vector<std::byte> stack;
  uintptr_t pointer = 0;  // its pthread_t; 0: not known
  std::optional<PythonStack> python;
  bool is_stopped = false;
};

std::string in_proc(pid_t pid, pid_t tid, std::string_view file) {
  return base::format("/proc/{}/task/{}/{}", pid, tid, file);
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code failed;
  for (auto at = fs::directory_iterator(base::format("/proc/{}/task", pid), failed); !failed && at != fs::end(at);
       at.increment(failed))
    if (const int tid = std::atoi(at->path().filename().c_str()); tid > 0 && threads.size() < kMaxThreads)
      threads.push_back(tid);
  std::sort(threads.begin(), threads.end());
  return threads;
}

// One line; empty if it cannot be read.
std::string line_of(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

// What the kernel says about a thread that runs on: name, state, system call.
void describe(pid_t pid, Copied& thread) {
  thread.name = line_of(in_proc(pid, thread.tid, "comm"));
  const std::string stat = line_of(in_proc(pid, thread.tid, "stat"));  // "7 (name) S 1 …": a name may have brackets
  if (const size_t end = stat.rfind(')'); end != stat.npos && end + 2 < stat.size()) thread.state = stat[end + 2];
  Call call;
  auto* const a = call.arguments;
  const std::string text = line_of(in_proc(pid, thread.tid, "syscall"));
  if (std::sscanf(text.c_str(), "%ld %lx %lx %lx %lx %lx %lx", &call.number, a, a + 1, a + 2, a + 3, a + 4, a + 5) == 7)
    thread.call = call;
}

size_t read_memory(pid_t pid, uint64_t address, void* to, size_t bytes) {
  // A page at a time: what is mapped is read, up to the first page that is not.
  std::vector<iovec> far;
  for (uint64_t at = address; at < address + bytes;) {
    const uint64_t next = std::min<uint64_t>((at / kPage + 1) * kPage, address + bytes);
    far.push_back({reinterpret_cast<void*>(at), next - at});
    at = next;
  }
  iovec here{to, bytes};
  size_t all = 0;
  for (size_t first = 0; first < far.size(); first += IOV_MAX) {
    const size_t count = std::min<size_t>(far.size() - first, IOV_MAX);
    const ssize_t got = ::process_vm_readv(pid, &here, 1, far.data() + first, count, 0);
    if (got <= 0) break;
    all += static_cast<size_t>(got);
    here = {static_cast<char*>(to) + all, bytes - all};
    if (here.iov_len == 0) break;
  }
  return all;
}

template <typename Value>
std::optional<Value> read_value(pid_t pid, uint64_t address) {
  Value value{};
  if (read_memory(pid, address, &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(pid_t pid, int error) {
  if (error == ESRCH) throw Error(base::format("there is no process {}: 'ps -e' lists those that run", pid));
  if (error != EPERM && error != EACCES)
    throw Error(base::format("cannot look into process {}: {}", pid, std::strerror(error)));
  std::error_code none;
  static_cast<void>(fs::read_symlink(base::format("/proc/{}/exe", pid), none));
  if (none == std::errc::no_such_file_or_directory)
    throw Error(base::format("process {} is a part of the kernel, and has no stack that can be shown", pid));
  const std::string scope = line_of("/proc/sys/kernel/yama/ptrace_scope");
  const std::string remedy =
      ::geteuid() == 0 ? "another tracer has it (a debugger, strace), or the container lacks CAP_SYS_PTRACE"
      : scope.empty() || scope == "0"
          ? "it belongs to another user, or another tracer has it: run as its user or root"
          : base::format("kernel.yama.ptrace_scope is {}: run as root, or 'sudo sysctl kernel.yama.ptrace_scope=0'",
                         scope);
  throw NotAvailable(base::format("not permitted to look into process {}: {}", pid, remedy));
}

// Stops threads, and lets all of them go on in the end.
class Stopped {
 public:
  explicit Stopped(pid_t pid) : pid_(pid), begin_(base::monotonic_ns()) {}
  Stopped(const Stopped&) = delete;
  ~Stopped() { go_on(); }

  // All threads, also those that are made meanwhile.
  void stop_all(std::vector<Copied>& threads) {
    std::set<pid_t> known;
    for (bool is_new = true; is_new;) {
      const size_t before = threads.size();
      for (const pid_t tid : threads_of(pid_)) {
        if (!known.insert(tid).second) continue;
        Copied& thread = threads.emplace_back();
        thread.tid = tid;
        describe(pid_, thread);
        if (thread.state == 'Z') continue;  // the others go on without it
        if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0) {
          seized_.push_back(tid);
          ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
        } else if (errno != ESRCH || tid == pid_) {
          refuse(pid_, errno);
        }
      }
      is_new = threads.size() != before;
      for (size_t i = before; i < threads.size(); ++i)
        threads[i].is_stopped = threads[i].state != 'Z' && wait_for(threads[i].tid);
    }
  }

  void go_on() {
    for (const pid_t tid : std::exchange(seized_, {})) ::ptrace(PTRACE_DETACH, tid, nullptr, pending_[tid]);
    if (stopped_ns_ == 0) stopped_ns_ = base::monotonic_ns() - begin_;
  }
  uint64_t stopped_ns() const { return stopped_ns_; }

 private:
  // A signal that arrives at the same time is delivered when the thread goes on.
  bool wait_for(pid_t tid) {
    while (base::monotonic_ns() - begin_ < kLongestStop) {
      int status = 0;
      const pid_t got = ::waitpid(tid, &status, __WALL | WNOHANG);
      if (got < 0) return false;
      if (got == 0) {
        const timespec moment{0, 20'000};
        ::nanosleep(&moment, nullptr);
        continue;
      }
      if (!WIFSTOPPED(status)) return false;  // it has ended
      if (status >> 16 == 0) pending_[tid] = WSTOPSIG(status);
      return true;
    }
    return false;  // in the kernel, for example in a file system that does not answer
  }

  pid_t pid_;
  uint64_t begin_, stopped_ns_ = 0;
  std::vector<pid_t> seized_;
  std::map<pid_t, long> pending_;
};

bool read_registers(Copied& thread) {
#if defined(__x86_64__)
  user_regs_struct all{};
  iovec place{&all, sizeof all};
  if (::ptrace(PTRACE_GETREGSET, thread.tid, NT_PRSTATUS, &place) != 0) return false;
  thread.registers.at = {all.rip, all.rsp, all.rbp};
  thread.pointer = all.fs_base;
#elif defined(__aarch64__)
  user_pt_regs all{};
  iovec place{&all, sizeof all};
  if (::ptrace(PTRACE_GETREGSET, thread.tid, NT_PRSTATUS, &place) != 0) return false;
  thread.registers.at = {all.pc, all.sp, all.regs[29]};
  thread.registers.link = all.regs[30];
#endif
  return true;
}

void copy_stack(pid_t pid, Copied& thread) {
  if (!thread.is_stopped || !read_registers(thread)) return;
  thread.stack.resize(kMaxStackBytes);
  thread.stack.resize(read_memory(pid, thread.registers.at.sp, thread.stack.data(), thread.stack.size()));
  thread.stack.shrink_to_fit();
  thread.registers.is_cut = thread.stack.size() == kMaxStackBytes;
}

// ---- Names ---------------------------------------------------------------------------------------------------------

class Names {
 public:
  explicit Names(pid_t pid) : pid_(pid), made_(CodeMap::of_process(pid)) { code_.read_maps(pid); }

  AddressSpace& code() { return code_; }
  const std::string& program() const { return code_.program(); }

  PythonFunctions& python() { return python_; }

  void add(uint64_t return_address, std::vector<symbols::Frame>& frames) {
    if (PythonFunctions::is_python(return_address)) {
      const PythonFunctions::Place& place = python_.at(return_address);
      frames.push_back({place.function, place.file, place.line, place.file, false});
      return;
    }
    if (const LoadedFile* const file = code_.file_at(pid_, return_address)) {
      const std::string lost = code_.path_if_lost(pid_, return_address);
      for (symbols::Frame& frame :
           symbols_.at_return_address(lost.empty() ? file->path : lost, lost.empty() ? file->build_id : std::string(),
                                      return_address - file->base)) {
        frame.module = file->path;
        frames.push_back(std::move(frame));
      }
      return;
    }
    const std::string_view name = made_.at(return_address - 1);
    symbols::Frame& frame = frames.emplace_back();
    frame.function = name.empty() ? base::format("0x{:x}", return_address - 1) : std::string(name);
  }

 private:
  pid_t pid_;
  CodeFiles files_;
  AddressSpace code_{files_};
  CodeMap made_;
  PythonFunctions python_;
  symbols::FileSymbols symbols_;
};

// ---- What a thread waits for ---------------------------------------------------------------------------------------

constexpr std::pair<long, const char*> kCalls[] = {
#if defined(SYS_poll)
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_ioctl, "ioctl"},
    {SYS_openat, "openat"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_restart_syscall, "restart_syscall"},
};

std::string call_name(long number) {
  for (const auto& [known, name] : kCalls)
    if (known == number) return name;
  return base::format("call {}", number);
}

bool takes_descriptor(long number) {
  constexpr long kOf[] = {SYS_read,     SYS_write,   SYS_readv,   SYS_writev, SYS_pread64, SYS_pwrite64,
                          SYS_accept,   SYS_accept4, SYS_connect, SYS_flock,  SYS_fcntl,   SYS_ioctl,
                          SYS_recvfrom, SYS_recvmsg, SYS_sendto,  SYS_fsync,  SYS_sendmsg, SYS_fdatasync};
  return std::ranges::find(kOf, number) != std::ranges::end(kOf);
}

// The thread that the C library has noted as the holder of a mutex: pthread_mutex_t begins with the lock, a count, and
// the holder.
std::optional<pid_t> holder_of_mutex(pid_t pid, uint64_t mutex) {
  constexpr uint64_t kHolder = 8;
  const auto holder = read_value<int32_t>(pid, mutex + kHolder);
  return holder && *holder > 0 ? holder : std::nullopt;
}

// A futex is what its callers say it is.
void explain_futex(pid_t pid, const std::vector<pid_t>& threads, const std::vector<symbols::Frame>& frames,
                   BlockedIn& blocked) {
  constexpr size_t kInnermost = 6;
  const auto is_called = [&](std::initializer_list<std::string_view> parts) {
    for (size_t i = 0; i < std::min(kInnermost, frames.size()); ++i)
      for (const std::string_view part : parts)
        if (frames[i].function.find(part) != std::string::npos) return true;
    return false;
  };
  const auto thread = [&](std::optional<pid_t> tid) {
    return tid && std::ranges::binary_search(threads, *tid) ? tid : std::nullopt;
  };
  const auto name = [&](std::string_view kind) { blocked.object = base::format("{} 0x{:x}", kind, blocked.address); };
  if (is_called({"pthread_cond_", "condition_variable"})) {
    name("condition variable");
  } else if (is_called({"pthread_rwlock_"})) {
    name("read-write lock");
  } else if (is_called({"sem_wait", "sem_timedwait", "sem_clockwait"})) {
    name("semaphore");
  } else if (is_called({"pthread_join", "pthread_clockjoin", "pthread_timedjoin", "thread::join"})) {
    blocked.object = "end of a thread";
    blocked.of = thread(read_value<int32_t>(pid, blocked.address));
  } else if (is_called({"pthread_mutex_", "lll_lock"})) {
    name("mutex");
    blocked.of = thread(holder_of_mutex(pid, blocked.address));
  } else {
    name("futex");
  }
}

std::optional<BlockedIn> blocked_in(pid_t pid, const Copied& thread, const std::vector<pid_t>& threads,
                                    const std::vector<symbols::Frame>& frames) {
  if (thread.call.number < 0 || thread.state == 'R') return std::nullopt;
  BlockedIn blocked;
  blocked.call = call_name(thread.call.number);
  if (thread.call.number == SYS_futex) {
    blocked.address = thread.call.arguments[0];
    explain_futex(pid, threads, frames, blocked);
  } else if (takes_descriptor(thread.call.number)) {
    std::error_code unknown;
    const fs::path file =
        fs::read_symlink(base::format("/proc/{}/fd/{}", pid, static_cast<int>(thread.call.arguments[0])), unknown);
    if (!unknown) blocked.object = file.string();
  }
  return blocked;
}

}  // namespace

ProcessStacks stacks_of_process(pid_t pid) {
  const std::vector<pid_t> tasks = pid <= 0 ? std::vector<pid_t>() : threads_of(pid);
  if (tasks.empty()) refuse(pid, ESRCH);
  // The main thread may have ended before the others. Then the memory is known only by one of these.
  const auto alive = std::ranges::find_if(tasks, [&](pid_t tid) {
    Copied one;
    one.tid = tid;
    describe(pid, one);
    return one.state != 'Z';
  });
  if (alive == tasks.end()) throw Error(base::format("process {} has ended, and its parent has not taken notice", pid));
  const pid_t memory = *alive;
  std::vector<Copied> copied;
  ProcessStacks result;
  result.pid = pid;
  Names names(memory);  // before the stop: reading the list of files takes a while
  PythonProcess python(memory, names.code());
  result.unknown_python = python.unknown_version();
  {
    Stopped stopped(pid);
    stopped.stop_all(copied);
    for (Copied& thread : copied) {
      copy_stack(memory, thread);
      if (thread.is_stopped) thread.python = python.read(thread.tid, thread.pointer, names.python());
    }
    stopped.go_on();
    result.stopped_ns = stopped.stopped_ns();
  }
  result.program = fs::path(names.program()).filename().string();
  std::ranges::sort(copied, {}, &Copied::tid);
  std::vector<pid_t> threads;
  for (const Copied& one : copied) threads.push_back(one.tid);
  for (Copied& one : copied) {
    ThreadStack& thread = result.threads.emplace_back();
    thread.tid = one.tid;
    thread.name = one.name;
    thread.state = one.state;
    if (!one.stack.empty()) {
      one.registers.bytes = one.stack;
      std::vector<uint64_t> addresses(kMaxFrames), ends(kMaxFrames);
      const WalkedCopy walked = walk_copy(one.registers, names.code(), memory, addresses, ends);
      bool is_known = walked.root == unwind::kRoot;
      std::span<const uint64_t> all = std::span(addresses).first(walked.count);
      if (one.python) all = names.python().put_into(all, std::span(ends).first(walked.count), *one.python, is_known);
      thread.is_complete = is_known;
      for (const uint64_t address : all) names.add(address, thread.frames);
    }
    thread.blocked = blocked_in(memory, one, threads, thread.frames);
  }
  return result;
}

}  // namespace kymo::sample
