#include "inject/python_stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/print.h"
#include "inject/adapter.h"
#include "kymo/annotate.h"
#include "python_code/code.h"
#include "python_code/frames.h"
#include "record/stated.h"
#include "record/store.h"
#include "unwind/stack_tree.h"

namespace kymo::inject {
namespace {

using unwind::Node;

constexpr kymo_memory kOwnMemory{nullptr, nullptr};

// Of another thread, which may change it, or give it back, at any moment.
bool load_safely(void*, uintptr_t from, uint64_t* into) noexcept {
  iovec local{into, sizeof *into}, remote{reinterpret_cast<void*>(from), sizeof *into};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof *into);
}
constexpr kymo_memory kOtherMemory{load_safely, nullptr};
constexpr size_t kMostFrames = 256;
constexpr size_t kKnownStacks = 1024, kWays = 4;
constexpr size_t kMostPlaces = 1 << 20;
constexpr uint64_t kFirstAddress = uint64_t{1} << 62;  // where no code can be

constinit Site stack_site{Label("python stack", "kymo.stack")},
    main_stack_site{Label("python stack of the main thread", "kymo.stack")},
    node_site{Label("stack node", "kymo.stack")}, symbol_site{Label("symbol", "kymo.stack")};

// ---- The interpreter of the process

struct Python {
  kymo_python layout{};
  void* (*thread_state)() = nullptr;  // PyGILState_GetThisThreadState, for which the thread need not hold the lock
};

Python find_python() noexcept {
  Python python;
  const char* const wanted = base::environment("KYMO_PYTHON_STACKS");
  if (wanted != nullptr && strcmp(wanted, "off") == 0) return {};
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  const auto runtime = reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  python.thread_state = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  if (version == nullptr || runtime == 0 || python.thread_state == nullptr) return {};
  const auto code_type = reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "PyCode_Type"));
  if (kymo_find_python(version(), runtime, code_type, kOwnMemory, &python.layout)) return python;
  const std::string_view text = version();
  base::say_to_user("launches have no lines of Python, because the layout of this version is not known: ",
                    text.substr(0, text.find(' ')));
  return {};
}

const Python& this_python() noexcept {
  static const Python found = find_python();
  return found;
}

// ---- Places: lines of Python functions

// A code object may be freed, and another one may be at its address.
struct Instruction {
  uint64_t code, at, name, lines;
  bool operator==(const Instruction&) const = default;
};
struct Hash {
  size_t operator()(const Instruction& one) const noexcept {
    uint64_t hash = 0;
    for (const uint64_t word : {one.code, one.at, one.name, one.lines})
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
    return hash;
  }
};

struct Place {
  uint64_t address = 0;
  std::string function, file;
  uint32_t line = 0;
  std::atomic<uint64_t> recording{0};  // that it was stated in
};

struct Places {
  std::mutex mutex;
  std::unordered_map<Instruction, std::shared_ptr<Place>, Hash> by_instruction, by_line;
  uint64_t next = kFirstAddress;
};
// A forked child begins anew: another thread of its parent may have been in the middle of a change.
Places& places() noexcept {
  static Immortal<Places> storage;
  static Places* made = nullptr;
  static const int is_registered = pthread_atfork(nullptr, nullptr, [] { made = &storage.make(); });
  static const bool is_made = (made = &storage.make()) != nullptr;
  static_cast<void>(is_registered + is_made);
  return *made;
}

uint64_t word_at(kymo_memory memory, uint64_t address) noexcept {
  uint64_t word = 0;
  if (memory.load == nullptr)
    memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  else
    memory.load(memory.context, address, &word);
  return word;
}

std::vector<std::byte> bytes_of(kymo_memory memory, uint64_t address, size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
    const uint64_t word = word_at(memory, address + i);
    memcpy(bytes.data() + i, &word, std::min(count - i, sizeof word));
  }
  return bytes;
}

std::string text_of(kymo_memory memory, const kymo_python_text& text) {
  return python_code::python_text(bytes_of(memory, text.at, size_t{text.length} * text.width), text.width);
}

// Null: it cannot be read, or there are too many.
std::shared_ptr<Place> place_of(const Instruction& one, kymo_memory memory) {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  if (const auto known = all.by_instruction.find(one); known != all.by_instruction.end()) return known->second;
  const kymo_python& layout = this_python().layout;
  kymo_python_code code{};
  if (all.by_instruction.size() >= kMostPlaces || !kymo_read_python_code(&layout, memory, one.code, &code))
    return nullptr;
  const auto* const lines = reinterpret_cast<const std::byte*>(code.lines);
  const uint32_t line =
      python_code::python_line(layout.minor, {lines, code.lines_bytes}, code.first_line, static_cast<int64_t>(one.at));
  std::shared_ptr<Place>& place = all.by_line[{one.code, line, one.name, one.lines}];
  if (place == nullptr) {
    place = std::make_shared<Place>();
    place->address = all.next++;
    place->function = text_of(memory, code.name);
    place->file = text_of(memory, code.file);
    place->line = line;
  }
  all.by_instruction[one] = place;
  return place;
}

// ---- Stacks of a thread

struct ThreadStacks {
  struct Known {
    uint64_t hash = 0;
    Node node = 0;
  };
  record::Stated stated;
  unwind::StackTree tree;
  std::array<Known, kKnownStacks> known;
  size_t replaced = 0;
  uint64_t main_read_ns = 0;
  Node main_node = 0;  // as it was then

  void begin() noexcept {
    tree.forget();
    known.fill({});
    main_read_ns = 0;
  }
};

thread_local constinit ThreadStacks* own_stacks __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit bool has_ended = false;

ThreadStacks* this_thread() noexcept {
  struct AtExit {
    ~AtExit() {
      has_ended = true;
      delete std::exchange(own_stacks, nullptr);
    }
  };
  if (__builtin_expect(own_stacks != nullptr, 1)) return own_stacks;
  if (has_ended) return nullptr;
  static thread_local AtExit at_exit;
  (void)&at_exit;
  return own_stacks = new (std::nothrow) ThreadStacks;
}

template <class... Values>
bool state(Site& site, const Values&... values) noexcept {
  const std::array<kymo_arg, sizeof...(Values)> args{values...};
  const record::FoundClass found = record::class_at(site, args.data(), args.size());
  if (found.name_inline) return false;
  record::store_event(record::Kind::Instant, found.id, nullptr, 0, args.data(), args.size(), nullptr);
  return true;
}

Instruction instruction_of(const kymo_python& layout, const kymo_python_frame& frame, kymo_memory memory) noexcept {
  return {frame.code, frame.at, word_at(memory, frame.code + layout.at.name),
          word_at(memory, frame.code + layout.at.lines)};
}

Node child(ThreadStacks& self, Node parent, const Instruction& one, kymo_memory memory) {
  const std::shared_ptr<Place> place = place_of(one, memory);
  if (place == nullptr) return parent;
  bool is_fresh = false;
  const Node node = self.tree.child(parent, place->address, is_fresh);
  if (!is_fresh) return node;
  const uint64_t recording = self.stated.recording();
  if (place->recording.exchange(recording, std::memory_order_relaxed) != recording || self.stated.is_overwritten())
    state(symbol_site, arg("address", reinterpret_cast<void*>(place->address)), arg("name", place->function),
          arg("file", place->file), arg("line", place->line));
  state(node_site, arg("node", node), arg("parent", parent), arg("address", reinterpret_cast<void*>(place->address)));
  return node;
}

// `thread`: the state of a thread of Python.
Node node_of(ThreadStacks& self, const kymo_python& layout, uintptr_t thread, kymo_memory memory) {
  std::array<kymo_python_frame, kMostFrames> frames;
  bool is_cut = false;
  const size_t count = kymo_python_frames(&layout, memory, thread, frames.data(), frames.size(), &is_cut);
  uint64_t hash = count;
  bool is_any = false;
  for (size_t i = 0; i < count; ++i) {
    if (frames[i].code == 0) continue;
    is_any = true;
    const Instruction one = instruction_of(layout, frames[i], memory);
    const uint64_t mixed = one.code + std::rotl(one.at, 48) + std::rotl(one.name, 16) + std::rotl(one.lines, 32);
    hash = (std::rotl(hash, 23) ^ mixed) * 0x9e3779b97f4a7c15u;
  }
  if (!is_any) return unwind::kNoStack;
  hash ^= hash >> 31;
  ThreadStacks::Known* const known = &self.known[hash % (kKnownStacks / kWays) * kWays];
  for (size_t i = 0; i < kWays; ++i)
    if (known[i].hash == hash && known[i].node != 0) return known[i].node;
  Node node = is_cut ? unwind::kCutTooDeep : unwind::kRoot;
  for (size_t i = count; i-- > 0;)
    if (frames[i].code != 0) node = child(self, node, instruction_of(layout, frames[i], memory), memory);
  known[self.replaced++ % kWays] = {hash, node};
  return node;
}

Node node_of_main_thread(ThreadStacks& self, const kymo_python& layout) {
  constexpr uint64_t kEvery = 1'000'000;
  const uint64_t now = base::monotonic_ns();
  if (self.main_read_ns != 0 && now - self.main_read_ns < kEvery) return self.main_node;
  self.main_read_ns = now;
  const uintptr_t thread = kymo_python_thread(&layout, kOtherMemory, 0, 0, static_cast<uint32_t>(getpid()));
  return self.main_node = thread == 0 ? unwind::kNoStack : node_of(self, layout, thread, kOtherMemory);
}

}  // namespace

void state_python_stack(bool or_of_main_thread) noexcept {
  if (!record::recording()) return;
  const Python& python = this_python();
  if (python.layout.minor == 0) return;
  ThreadStacks* const self = this_thread();
  if (self == nullptr) return;
  try {
    if (__builtin_expect(!self->stated.is_current(), 0)) {
      if (!self->stated.begin()) return;
      self->begin();
    }
    if (self->stated.is_storing()) return;
    static constexpr kymo_arg kNode[] = {{"node", {}, 0, KYMO_UINT}};
    const auto thread = reinterpret_cast<uintptr_t>(python.thread_state());
    Node node = thread != 0 ? node_of(*self, python.layout, thread, kOwnMemory) : unwind::kNoStack;
    Site* site = &stack_site;
    if (node == unwind::kNoStack && or_of_main_thread &&
        (node = node_of_main_thread(*self, python.layout)) != unwind::kNoStack)
      site = &main_stack_site;
    const record::FoundClass found = record::class_at(*site, kNode, 1);
    if (!found.name_inline) record::store_number(record::Kind::Instant, found.id, node);
  } catch (...) {  // no memory: this launch has no line
  }
}

}  // namespace kymo::inject
