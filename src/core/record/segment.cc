#include "record/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>
#include <string_view>

#include "base/environment.h"
#include "base/hex.h"
#include "record/clock.h"
#include "record/registry.h"

namespace kymo::record {

Outcome Outcome::failure(const char* format, ...) noexcept {
  Outcome outcome;
  va_list values;
  va_start(values, format);
  vsnprintf(outcome.text_, sizeof outcome.text_, format, values);
  va_end(values);
  return outcome;
}

void Outcome::add(const Outcome& other) noexcept {
  size_t used = strlen(text_);
  for (const char* part : {used != 0 ? "; " : "", other.text_})
    for (; *part != '\0' && used + 1 < sizeof text_; ++part) text_[used++] = *part;
  text_[used] = '\0';
}

namespace {

// One candidate folder. Creates it with mode 0700 if needed. Refuses it if another user could have created it.
Outcome try_folder(const char* base, char (&path)[kSegmentPathBytes]) noexcept {
  const int length = snprintf(path, sizeof path, "%s/kymo-%u", base, static_cast<unsigned>(geteuid()));
  if (length < 0 || static_cast<size_t>(length) + 40 > sizeof path)
    return Outcome::failure("%s: the path is too long", base);
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return Outcome::failure("%s: %s", path, strerror(errno));
  struct stat status;
  if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & 077) != 0)
    return Outcome::failure("%s: not a folder of this user's alone (want 0700)", path);
  if (access(path, W_OK | X_OK) != 0) return Outcome::failure("%s: %s", path, strerror(errno));
  return {};
}

// Without this, a program that was started without its standard files would print into its own segment.
int open_above_streams(const char* path, int flags) noexcept {
  const int fd = open(path, flags, 0600);
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return above;
}

struct flock lock_of(Holder holder) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(holder);
  lock.l_len = 1;
  return lock;
}

// The max size of a segment. A file above its limit would end the program by a signal. A mapping above its limit would
// fail.
uint64_t max_bytes() noexcept {
  uint64_t max = ~uint64_t{0};
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) max = limit.rlim_cur;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    uint64_t used = 0;
    if (const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); fd >= 0) {
      char text[64] = {};
      if (read(fd, text, sizeof text - 1) > 0) used = strtoull(text, nullptr, 10) * kPage;
      close(fd);
    }
    // Use a quarter of what is left: the program needs the rest.
    const uint64_t left = limit.rlim_cur > used ? (limit.rlim_cur - used) / 4 : 0;
    if (left < max) max = left;
  }
  return max;
}

struct Capacity {
  uint32_t slots;
  uint64_t ring_bytes;
};

// As many threads as fit. If only few fit, the rings are smaller.
Capacity capacity_within(uint64_t bytes, uint64_t header_bytes, uint64_t ring_bytes) noexcept {
  constexpr uint64_t kFew = 64;
  const uint64_t left = bytes > header_bytes ? bytes - header_bytes : 0;
  while (ring_bytes > kMinRingBytes && left / (kPage + ring_bytes) < kFew) ring_bytes /= 2;
  const uint64_t slots = left / (kPage + ring_bytes);
  return {static_cast<uint32_t>(slots < kMaxSlots ? slots : kMaxSlots), ring_bytes};
}

// True if the collector can find the files in `folder`: it sees the same folder, or the same files everywhere.
bool is_in_reach(const Home& home, const char* folder) noexcept {
  if (home.root_inode == 0) return true;
  const Home here = home_of(folder);
  return (here.device == home.device && here.inode == home.inode) ||
         (here.root_device == home.root_device && here.root_inode == home.root_inode && home.mounts != 0 &&
          here.mounts == home.mounts);
}

uint64_t namespace_of_this_process(const char* path) noexcept {
  struct stat status;
  return stat(path, &status) == 0 ? status.st_ino : 0;
}

bool is_open(const Mapping& mapping) noexcept {
  struct stat status;
  return fstat(mapping.fd, &status) == 0 && status.st_dev == mapping.device && status.st_ino == mapping.inode;
}

// The bytes of a file of /proc, in pieces.
template <class Take>
void read_file(const char* path, Take take) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char piece[1024];
  while (true) {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got <= 0 || !take(std::string_view(piece, static_cast<size_t>(got)))) break;
  }
  close(fd);
}

// From /proc, because another thread may change `environ`. One variable after the other is put after those that are
// kept, and stays there if it is of interest.
void keep_variables(char* begin, size_t size) noexcept {
  if (size < 2) return;
  const size_t space = size - 2;  // for a zero of the last variable, and the empty string after it
  size_t kept = 0, end = 0;
  bool fits = true;
  read_file("/proc/self/environ", [&](std::string_view piece) {
    for (const char byte : piece) {
      if (byte != '\0') {
        fits = fits && end < space;
        if (fits) begin[end++] = byte;
        continue;
      }
      if (fits && base::describes_run({begin + kept, end - kept})) {
        begin[end++] = '\0';
        kept = end;
      }
      end = kept;
      fits = true;
    }
    return true;
  });
  memset(begin + kept, 0, size - kept);
}

// What a collector cannot read from /proc after the process has ended. What does not fit is left out.
void fill_origin(SegmentHeader& header) noexcept {
  const ssize_t executable = readlink("/proc/self/exe", header.origin, kOriginBytes - 1);
  size_t used = executable > 0 ? static_cast<size_t>(executable) : 0;
  header.origin[used++] = '\0';
  read_file("/proc/self/cmdline", [&](std::string_view piece) {
    const size_t taken = piece.size() < kOriginBytes - used ? piece.size() : kOriginBytes - used;
    memcpy(header.origin + used, piece.data(), taken);
    used += taken;
    return used < kOriginBytes;
  });
  header.origin[kOriginBytes - 1] = '\0';
  header.origin_bytes = static_cast<uint32_t>(used);
  keep_variables(header.origin + used, kOriginBytes - used);
}

}  // namespace

Home home_of(const char* folder) noexcept {
  char path[kSegmentPathBytes + 4];
  snprintf(path, sizeof path, "%s/..", folder);
  struct stat root, users;
  if (stat("/", &root) != 0 || stat(path, &users) != 0) return {};
  return {users.st_dev, users.st_ino, root.st_dev, root.st_ino, mount_namespace(), network_namespace()};
}

Outcome segment_folder(char (&path)[kSegmentPathBytes]) noexcept {
  if (const char* chosen = base::environment("KYMO_SHM_DIR"); chosen != nullptr && chosen[0] != '\0')
    return try_folder(chosen, path);
  const char* const runtime = base::environment("XDG_RUNTIME_DIR");
  const bool has_runtime = runtime != nullptr && runtime[0] == '/';
  Outcome failures;
  for (const char* base : {"/dev/shm", has_runtime ? runtime : nullptr, "/tmp"}) {
    if (base == nullptr) continue;
    const Outcome found = try_folder(base, path);
    if (found) return found;
    failures.add(found);
  }
  return failures;
}

Outcome create_segment(const SegmentOptions& options, Mapping& mapping, char (&path)[kSegmentPathBytes]) noexcept {
  if (const Outcome found = segment_folder(path); !found) return found;
  if (!is_in_reach(options.home, path))
    return Outcome::failure(
        "%s: out of the recording's sight (chroot, container); let both see one folder, and set KYMO_SHM_DIR to it",
        path);
  uint8_t name[16];
  if (getrandom(name, sizeof name, 0) != sizeof name) return Outcome::failure("no random numbers: %s", strerror(errno));
  const size_t folder = strlen(path);
  // The file has no name until it is complete: if the process is killed before that, nothing is left behind. If the
  // file system does not support such files, or there is no /proc to name them, the file has its name from the start.
  // Then readers look again until they find the magic in it.
  const bool can_be_named_later = access("/proc/self/fd", X_OK) == 0;
  int fd = can_be_named_later ? open_above_streams(path, O_TMPFILE | O_RDWR | O_CLOEXEC) : -1;
  bool named = false;
  path[folder] = '/';
  *base::put_hex(path + folder + 1, name, sizeof name) = '\0';

  const uint64_t header_bytes = round_up(sizeof(SegmentHeader), kPage);
  const Capacity capacity = capacity_within(max_bytes(), header_bytes, options.ring_bytes);
  const uint64_t slot_bytes = kPage + capacity.ring_bytes;
  const uint64_t bytes = header_bytes + capacity.slots * slot_bytes;

  if (fd < 0) {
    fd = open_above_streams(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    named = true;
  }
  if (fd < 0) return Outcome::failure("%s: %s", path, strerror(errno));
  const auto fail = [&](const char* what, int error) noexcept {
    close(fd);
    if (named) unlink(path);
    return Outcome::failure("%s: %s: %s", path, what, strerror(error));
  };
  if (capacity.slots == 0)
    return fail("the limits on the size of files or of memory (ulimit -f, -v) leave no room", EFBIG);
  if (!lock_segment(fd, Holder::Owner)) return fail("cannot be locked", errno);
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return fail("cannot be sized", errno);
  constexpr const char* kNoRoom = "no room in shared memory (make some, or set KYMO_SHM_DIR)";
  const uint64_t at_once = round_up(offsetof(SegmentHeader, registry.arena) + kArenaAtOnce, kPage);
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(at_once)); error != 0) return fail(kNoRoom, error);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return fail("cannot be mapped", errno);

  auto& header = *static_cast<SegmentHeader*>(memory);
  if (!arena_comes_when_needed(header.registry)) {
    if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(header_bytes)); error != 0) {
      munmap(memory, bytes);
      return fail(kNoRoom, error);
    }
  }
  header.version = kSegmentVersion;
  header.header_bytes = static_cast<uint32_t>(header_bytes);
  header.segment_bytes = bytes;
  header.slot_bytes = slot_bytes;
  header.slots_offset = header_bytes;
  header.slot_capacity = capacity.slots;
  header.ring_cells = static_cast<uint32_t>(capacity.ring_bytes / sizeof(Cell));
  memcpy(header.segment, name, sizeof name);
  memcpy(header.writer, name, sizeof name);
  memcpy(header.session, options.session, sizeof options.session);
  header.pid = static_cast<uint32_t>(getpid());
  header.parent_pid = static_cast<uint32_t>(getppid());
  header.pid_namespace = pid_namespace();
  header.process_identity = process_identity(header.pid);
  const TickSource source = tick_source();
  header.tick_kind = source.kind;
  header.ticks_per_second = source.per_second;
  header.policy.store(static_cast<uint32_t>(options.policy), std::memory_order_relaxed);
  const base::ClockPair pair = read_pair();
  header.pair_ticks = pair.ticks;
  header.pair_monotonic_ns = pair.monotonic_ns;
  header.pair_realtime_ns = pair.realtime_ns;
  header.pair_error_ns = pair.error_ns;
  header.pair_suspended_ns = pair.suspended_ns;
  header.start_realtime_ns = pair.realtime_ns;
  header.file_device = options.file_device;
  header.file_inode = options.file_inode;
  memcpy(header.file_path, options.file_path, sizeof header.file_path);
  header.alive_until.store(pair.ticks, std::memory_order_relaxed);
  fill_origin(header);
  std::atomic_ref<uint64_t>(header.magic).store(kSegmentMagic, std::memory_order_release);
  if (!named) {
    char unnamed[64];
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, unnamed, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0) {
      const int error = errno;
      munmap(memory, bytes);
      return fail("cannot be named", error);
    }
  }

  struct stat status {};
  fstat(fd, &status);
  mapping = {&header, bytes, fd, geometry_of(header), status.st_dev, status.st_ino};
  return {};
}

bool map_segment(int fd, Mapping& mapping, Sharing sharing) noexcept {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < sizeof(SegmentHeader)) return false;
  const int how = sharing == Sharing::Private ? MAP_PRIVATE : MAP_SHARED;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return false;
  auto& header = *static_cast<SegmentHeader*>(memory);
  const uint64_t magic = std::atomic_ref<uint64_t>(header.magic).load(std::memory_order_acquire);
  const Geometry geometry = geometry_of(header);  // read once: its process, or any other process, may change it
  const uint64_t ring_bytes = uint64_t{geometry.ring_cells} * sizeof(Cell);
  const uint64_t header_bytes = round_up(sizeof(SegmentHeader), kPage);
  const bool valid = magic == kSegmentMagic && header.version == kSegmentVersion && header.segment_bytes == bytes &&
                     header.header_bytes == header_bytes && geometry.slots_offset == header_bytes &&
                     geometry.slot_capacity <= kMaxSlots && ring_bytes >= kMinRingBytes &&
                     ring_bytes <= kMaxRingBytes && (ring_bytes & (ring_bytes - 1)) == 0 &&
                     geometry.slot_bytes == kPage + ring_bytes &&
                     bytes == geometry.slots_offset + geometry.slot_capacity * geometry.slot_bytes;
  if (!valid) {
    munmap(memory, bytes);
    return false;
  }
  mapping = {&header, bytes, fd, geometry, status.st_dev, status.st_ino};
  return true;
}

void unmap_segment(Mapping& mapping) noexcept {
  if (mapping.header != nullptr) munmap(mapping.header, mapping.bytes);
  if (mapping.fd >= 0) close(mapping.fd);
  mapping = {};
}

bool allocate_slot(Mapping& mapping, const char* path, uint32_t index) noexcept {
  const SegmentHeader& header = *mapping.header;
  if (!is_open(mapping)) {
    mapping.fd = open_above_streams(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);  // the old number may be another file now
    if (!is_open(mapping)) return false;
    lock_segment(mapping.fd, Holder::Owner);
  }
  const auto offset = static_cast<off_t>(header.slots_offset + uint64_t{index} * header.slot_bytes);
  // Not posix_fallocate: if the file system cannot reserve, it writes every page. /dev/shm can reserve.
  while (fallocate(mapping.fd, 0, offset, static_cast<off_t>(header.slot_bytes)) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP) return false;
    if (posix_fallocate(mapping.fd, offset, static_cast<off_t>(header.slot_bytes)) != 0) return false;
    break;
  }
  map_pages(reinterpret_cast<char*>(mapping.header) + offset, kPage + (header.slot_bytes - kPage) / kBlocks);
  return true;
}

void map_pages(void* begin, size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  madvise(begin, bytes, MADV_POPULATE_WRITE);  // older kernels reject it; then the page faults do the work
#endif
}

uint64_t process_identity(uint32_t pid) noexcept {
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  // The command name may contain anything, also a ')'. The fields start after the last ')'.
  const char* cursor = strrchr(text, ')');
  if (cursor == nullptr) return 0;
  if (cursor[1] == ' ' && (cursor[2] == 'Z' || cursor[2] == 'X')) return 0;  // a zombie does not record any more
  constexpr int kStartTime = 20, kStartStack = 26;  // fields after the name; the state is the first
  uint64_t identity = 0;
  for (int field = 1; field <= kStartStack; ++field) {
    cursor = strchr(cursor + 1, ' ');
    if (cursor == nullptr) return 0;
    if (field == kStartTime || field == kStartStack)
      identity = identity * 0x9e3779b97f4a7c15u + strtoull(cursor, nullptr, 10);
  }
  return identity;
}

uint64_t pid_namespace() noexcept { return namespace_of_this_process("/proc/self/ns/pid"); }
uint64_t mount_namespace() noexcept { return namespace_of_this_process("/proc/self/ns/mnt"); }
uint64_t network_namespace() noexcept { return namespace_of_this_process("/proc/self/ns/net"); }

bool lock_segment(int fd, Holder as) noexcept {
  struct flock lock = lock_of(as);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool owner_is_alive(int fd, const SegmentHeader& header) noexcept {
  struct flock lock = lock_of(Holder::Owner);
  if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) return true;
  return header.process_identity != 0 && header.pid_namespace == pid_namespace() &&
         process_identity(header.pid) == header.process_identity;
}

}  // namespace kymo::record
