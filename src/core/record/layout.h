// The layout of a segment, as specified in docs/segment.md. A recording process and its collector share it.
//
// The process writes records, the collector reads them, and either may die at any store. So every word that both access
// is an atomic, every position only grows, and neither side follows a pointer of the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

struct kymo_queue;

namespace kymo::record {

inline constexpr uint64_t kSegmentMagic = 0x31474553'4f4d594bull;  // "KYMOSEG1"
inline constexpr uint32_t kSegmentVersion = 9;
inline constexpr uint32_t kPage = 4096;

// ---- Records -------------------------------------------------------------------------------------------------------

// A ring has 16-byte cells. A record is one cell, or one cell and the payload cells that it counts.
struct Cell {
  std::atomic<uint64_t> time;  // ticks; in a payload cell: the first word
  std::atomic<uint64_t> word;  // kind | payload cells << 8 | class << 32 | stack << 48; payload cell: the second word
};
static_assert(sizeof(Cell) == 16);

enum class Kind : uint8_t {
  Pad = 0,    // fills the cells up to the end of a block
  Begin = 1,  // opens a nested range
  End = 2,    // closes the innermost one
  Instant = 3,
  Counter = 4,
  AsyncBegin = 5,  // first payload word: the handle
  AsyncEnd = 6,    // first payload word: the handle
  FlowBegin = 7,   // first payload word: the flow
  FlowStep = 8,
  FlowEnd = 9,
  Allocation = 10,  // first payload word: the address
  Free = 11,
  Span = 12,         // a range in one record, its time is its end; first payload words: start, correlation
  ThreadBegin = 16,  // a thread took the slot: {tid, depth}
  ThreadEnd = 17,    // the thread released the slot
  ThreadName = 18,   // {length, text}
  Sync = 19,         // no range before this is open: {epoch, depth}
  Blocked = 20,      // the thread waited for the collector: {start in ticks, 0}; the record's time is the end
  Loss = 21,         // {cause, count}, {first, last}
  QueueBegin =
      22,  // a device's queue took the slot: {context, queue}, {clock, wrap bits}, {period}, name, uuid, device name
  ClockPair = 23,  // of the queue's clock: {ticks, monotonic}, {realtime, error}, {suspended, 0}
};

constexpr uint64_t make_word(Kind kind, uint32_t payload_cells, uint32_t class_id) {
  return static_cast<uint64_t>(kind) | uint64_t{payload_cells} << 8 | uint64_t{class_id} << 32;
}
constexpr Kind kind_of(uint64_t word) { return static_cast<Kind>(word & 0xff); }
constexpr uint32_t payload_cells_of(uint64_t word) { return (word >> 8) & 0xffffff; }
constexpr uint32_t class_of(uint64_t word) { return static_cast<uint16_t>(word >> 32); }

// A thread has its own stack of ranges, number 0. An interface whose ranges nest on their own, such as a domain of
// NVTX, has another one: then an end closes the innermost range of its stack, whatever else is open. An end on
// kAnyStack closes the innermost range of all.
inline constexpr uint16_t kAnyStack = 0xffff;
constexpr uint32_t on_stack(uint32_t class_id, uint16_t stack) { return class_id | uint32_t{stack} << 16; }
constexpr uint16_t stack_of(uint64_t word) { return static_cast<uint16_t>(word >> 48); }

// Class 0: the payload starts with the name, because the registry was full or the name was too long for it.
inline constexpr uint32_t kInlineNameClass = 0;

// ---- Slots ---------------------------------------------------------------------------------------------------------

// A ring is divided into blocks, and no record crosses the end of a block. So a reader that lost its position can
// continue at a block.
inline constexpr uint32_t kBlocks = 8;
inline constexpr uint32_t kLossCauses = 16;  // more than there are
inline constexpr uint32_t kSideCells = 64;

inline constexpr uint32_t kMaxInterfaces = 12;  // interfaces.h

// The reasons why an event could not be kept. The numbers are those of trace::LossCause.
inline constexpr uint32_t kLossRingFull = 1;
inline constexpr uint32_t kLossCollectorStalled = 2;
inline constexpr uint32_t kLossOverwritten = 3;
inline constexpr uint32_t kLossUnmatchedPop = 4;
inline constexpr uint32_t kLossUnknownRange = 5;
inline constexpr uint32_t kLossNoSlot = 6;
inline constexpr uint32_t kLossSignalBufferFull = 7;
inline constexpr uint32_t kLossTextTruncated = 8;
inline constexpr uint32_t kLossClock = 11;

enum class SlotState : uint32_t {
  Unused = 0,      // never used: it has no memory yet
  Live = 1,        // owned by a thread or a queue
  Retired = 2,     // its owner has ended; the collector must still read it. The next owner may take it before that
  Free = 3,        // completely read: may be used again
  Allocating = 4,  // a thread is allocating memory for it
};

// The state of a thread that records, or that only counts its depth; or of a device's queue. The owner is the slot's
// thread, or the current user of the queue.
struct Slot {
  // The owner's cache line. A store touches only this line and the ring.
  alignas(64) std::atomic<uint64_t> head;  // cells written so far
  std::atomic<uint64_t> limit;             // at this number of cells the slow path must run
  std::atomic<uint32_t> busy;              // the owner is inside a store: a signal handler must use the side buffer
  int32_t depth;                           // ranges pushed and not popped, recorded or not
  Cell* cells;                             // the ring, as an address of the owner
  uint64_t mask;                           // cells - 1
  std::atomic<uint32_t> side_count;        // cells of `side` in use
  uint32_t epoch;                          // of the last Sync
  uint64_t next_handle;                    // for range_start: a thread takes a block of them from the process

  // The collector's cache line.
  alignas(64) std::atomic<uint64_t> tail;  // cells that are read, and safe in the file

  // The owner's second cache line, for rare cases.
  alignas(64) uint64_t last_handle;
  Slot* before;            // the slot before it had a ring; kept, because a signal handler may have interrupted its use
  uint64_t dropped_depth;  // open ranges whose start was dropped: their ends are dropped too
  std::atomic<uint64_t> lost_ends;  // ends that did not fit anywhere
  uint32_t side_dropped;  // open ranges whose start did not fit in the side buffer: their ends are dropped too
  uint32_t side_open;     // open ranges whose start is in the side buffer: space for their ends is reserved there
  std::atomic<uint64_t> blocked_ticks;
  uint64_t retry_at;  // for a slot without a ring: when to try again to get one
  uint32_t index;     // of this slot; kPrivateSlot if it has no ring
  std::atomic<uint32_t> tid;
  std::atomic<uint64_t> loss_first, loss_last;
  std::atomic<uint32_t> loss_pending;  // not yet written as Loss records: the sum; by cause in losses[]
  // The call that blocks the owner now: its class, 0 for none, and since when. It is recorded when it ends, so this is
  // all there is of one that has not ended.
  std::atomic<uint32_t> wait_class;
  std::atomic<uint64_t> wait_start, wait_object, wait_node, wait_holder;
  alignas(64) std::atomic<uint32_t> losses[kLossCauses];
  uint32_t name_length;  // 0: use the system's name of the thread
  char name[48];
  kymo_queue* queue;       // the queue that owns the slot, as an address of the owner; null: a thread owns it
  uint64_t stated_before;  // for a queue: the end of the block in which it last described itself
  uint64_t clock;          // for a queue: its clock and the width, for a collector that takes over
  uint32_t wrap_bits;
  // Events of each interface that its adapter recorded here, by number (interfaces.h). Only the owner adds to it; it is
  // never reset, also not by the next owner.
  std::atomic<uint64_t> delivered[kMaxInterfaces];
};

inline constexpr uint32_t kPrivateSlot = 0xffffffff;

// The first and last bytes of a text: the complete text if it has at most 16.
struct Ends {
  uint64_t first = 0, last = 0;
};

// Recently used classes of this thread, by name. Only the owner uses it, and compares the name before it uses an entry.
struct CachedName {
  Ends ends;           // of the name
  uint64_t signature;  // of category, colour and fields
  const char* name;    // in the registry, as an address of the owner
  uint32_t length;
  uint32_t class_id;
};
inline constexpr uint32_t kCachedNames = 64;

// The area of a slot in the segment: one page, then the ring.
struct SlotPage {
  Slot slot;
  CachedName names[kCachedNames];
  // Records of a signal handler that interrupted a store of its thread, until that thread moves them into the ring.
  Cell side[kSideCells];
};
static_assert(sizeof(SlotPage) <= kPage);

// ---- Registry ------------------------------------------------------------------------------------------------------

inline constexpr uint32_t kMaxClasses = 16384;
inline constexpr uint32_t kIndexEntries = 32768;  // open addressing: class ids by the hash of their entry
inline constexpr uint32_t kArenaBytes = 2 << 20;
inline constexpr uint32_t kMaxInternedName = 16384;  // kernels of CUTLASS have names of some thousand bytes

// One class in the arena, 8-byte aligned. After it come the fields {type, name length}, the name, the category, and the
// names of the fields.
struct ClassEntry {
  uint64_t hash;
  uint32_t bytes;  // of the whole entry
  uint32_t colour;
  uint16_t name_length;
  uint16_t category_length;
  uint16_t field_count;
  uint16_t reserved;
};
struct ClassField {
  uint8_t type;  // as trace::FieldType
  uint8_t name_length;
};

struct Registry {
  std::atomic<uint32_t> class_count;  // ids 1 to class_count are assigned
  std::atomic<uint32_t> arena_used;
  // By class id: the offset of its entry in the arena + 1; 0: not there (yet).
  alignas(64) std::atomic<uint32_t> offsets[kMaxClasses + 1];
  std::atomic<uint32_t> index[kIndexEntries];
  // By class id: 1 + the number of the interface whose events have it (interfaces.h); 0: none.
  std::atomic<uint8_t> interface[kMaxClasses + 1];
  alignas(64) char arena[kArenaBytes];
};

// ---- The segment ---------------------------------------------------------------------------------------------------

inline constexpr uint32_t kMaxSlots = 4096;
inline constexpr uint32_t kOriginBytes = 8192;

enum NoRing : uint32_t { kNoRingMemory = 1, kNoRingSlot = 2, kNoRingEnded = 4 };  // Ended: of an ending thread

enum class RingPolicy : uint32_t { Block = 0, Drop = 1, Overwrite = 2 };
enum class TickKind : uint32_t { Monotonic = 1, Tsc = 2, ArmCounter = 3 };  // as trace::ClockKind

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;  // sizeof(SegmentHeader), rounded up to pages
  uint64_t segment_bytes;
  uint64_t slot_bytes;  // size of a slot's area: its page and its ring
  uint64_t slots_offset;
  uint32_t slot_capacity;
  uint32_t ring_cells;
  uint8_t segment[16];  // the name of the file, in hex
  uint8_t writer[16];   // the owner of the records: different for each session
  uint8_t session[16];
  uint32_t pid, parent_pid;
  uint64_t pid_namespace;     // the namespace of `pid`; 0: not known
  uint64_t process_identity;  // see segment.h: the pid may be reused, or be this process after exec
  TickKind tick_kind;
  std::atomic<uint32_t> policy;
  uint64_t ticks_per_second;  // 0: unknown
  // One clock pair, read at creation.
  uint64_t pair_ticks, pair_monotonic_ns, pair_realtime_ns, pair_error_ns, pair_suspended_ns;
  uint64_t start_realtime_ns;
  uint64_t file_device, file_inode;  // the trace of its records; 0: the trace is known only by its session
  char file_path[1024];              // its path, only to see if it still exists; never opened. Empty: too long

  // Shared by producers and the collector.
  alignas(64) std::atomic<uint32_t> wake;  // futex: the collector sleeps on it
  std::atomic<uint32_t> collector_sleeps;
  std::atomic<uint32_t> collector_attached;    // someone reads this segment
  std::atomic<uint32_t> closed;                // the collector has finished: the process must stop recording
  std::atomic<uint32_t> epoch;                 // changes with each start of recording
  alignas(64) std::atomic<uint32_t> progress;  // futex: grows when a tail moves; blocked producers sleep on it
  std::atomic<uint32_t> blocked_producers;
  std::atomic<uint32_t> retired_slots;  // waiting for the collector
  std::atomic<uint32_t> slots_used;     // slots from this index on are unused
  std::atomic<uint64_t> lost_without_slot;
  std::atomic<uint64_t> lost_without_slot_first, lost_without_slot_last;
  std::atomic<uint32_t> no_ring_reason;       // why threads got no ring: NoRing bits; 0: only signal handlers got none
  std::atomic<uint32_t> unrecorded_children;  // forked children without a segment
  std::atomic<uint32_t> needs_collector;      // its process has no collector, and may not write the trace
  std::atomic<uint64_t> alive_until;          // ticks: when a collector last saw the process alive
  // By interface: events that are counted in no slot, events that were not recorded, and time spent.
  std::atomic<uint64_t> interface_events[kMaxInterfaces], interface_lost[kMaxInterfaces];
  std::atomic<uint64_t> interface_cost_ns[kMaxInterfaces];
  std::atomic<uint32_t> interface_pending[kMaxInterfaces];  // 1: work of a device was started, and is not recorded yet

  std::atomic<uint32_t> slot_state[kMaxSlots];  // SlotState

  // NUL-terminated strings: executable, then the command line. After these bytes the variables of the environment that
  // describe the run, and an empty string.
  uint32_t origin_bytes;
  char origin[kOriginBytes];

  alignas(64) Registry registry;
};

// The positions of the slots. A reader of another process's segment must keep a checked copy: the header may change.
struct Geometry {
  uint64_t slots_offset = 0, slot_bytes = 0;
  uint32_t slot_capacity = 0, ring_cells = 0;
};
inline Geometry geometry_of(const SegmentHeader& header) {
  return {header.slots_offset, header.slot_bytes, header.slot_capacity, header.ring_cells};
}
inline SlotPage* slot_page(SegmentHeader* header, const Geometry& geometry, uint32_t index) {
  return reinterpret_cast<SlotPage*>(reinterpret_cast<char*>(header) + geometry.slots_offset +
                                     uint64_t{index} * geometry.slot_bytes);
}

// What threads wait for on the futex `progress`, as bits: otherwise each step of the collector would wake all of them.
inline constexpr uint32_t kSlotFreed = uint32_t{1} << 31;
constexpr uint32_t ring_read(uint32_t index) { return uint32_t{1} << index % 31; }

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// True if the slot has memory. The memory is allocated before its state shows it.
inline bool has_memory(const SegmentHeader& header, uint32_t index) {
  const uint32_t state = header.slot_state[index].load(std::memory_order_acquire);
  return state != static_cast<uint32_t>(SlotState::Unused) && state != static_cast<uint32_t>(SlotState::Allocating);
}

inline SlotPage* slot_page(SegmentHeader* header, uint32_t index) {
  return reinterpret_cast<SlotPage*>(reinterpret_cast<char*>(header) + header->slots_offset +
                                     uint64_t{index} * header->slot_bytes);
}
inline Cell* slot_cells(SegmentHeader* header, uint32_t index) {
  return reinterpret_cast<Cell*>(reinterpret_cast<char*>(slot_page(header, index)) + kPage);
}

}  // namespace kymo::record
