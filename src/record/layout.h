// The segment's bytes, as docs/segment.md specifies them: what a recording process and its collector share.
//
// The process writes records, the collector reads them, and either may die at any store. So every word that both touch
// is an atomic, every position only grows, and nothing in here is a pointer that the other side follows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

struct kymo_queue;

namespace kymo::record {

inline constexpr uint64_t kSegmentMagic = 0x31474553'4f4d594bull;  // "KYMOSEG1"
inline constexpr uint32_t kSegmentVersion = 4;
inline constexpr uint32_t kPage = 4096;

// ---- Records -------------------------------------------------------------------------------------------------------

// A ring holds 16-byte cells. A record is one cell, or one cell and the payload cells that `cells` counts.
struct Cell {
  std::atomic<uint64_t> time;  // ticks; in a payload cell the first word
  std::atomic<uint64_t> word;  // kind | payload cells << 8 | class << 32; in a payload cell the second word
};
static_assert(sizeof(Cell) == 16);

enum class Kind : uint8_t {
  Pad = 0,    // fills the cells up to a block's end
  Begin = 1,  // opens a nested range
  End = 2,    // closes the innermost
  Instant = 3,
  Counter = 4,
  AsyncBegin = 5,  // first payload word: the handle
  AsyncEnd = 6,    // first payload word: the handle
  FlowBegin = 7,   // first payload word: the flow
  FlowStep = 8,
  FlowEnd = 9,
  Allocation = 10,  // first payload word: the address
  Free = 11,
  Span = 12,         // a range in one record, whose time is its end; first payload words: start, correlation
  ThreadBegin = 16,  // a thread took the slot: {tid, depth}
  ThreadEnd = 17,    // it let go of it
  ThreadName = 18,   // {length, text}
  Sync = 19,         // nothing before this is open: {epoch, depth}
  Blocked = 20,      // the thread waited for the collector: {ticks it began, 0}; the record's time is the end
  Loss = 21,         // {cause, count}, {first, last}
  QueueBegin = 22,   // a device's queue has the slot: {context, queue}, {clock, wrap bits}, {period}, name, uuid
  ClockPair = 23,    // of its clock: {ticks, monotonic}, {realtime, error}
};

constexpr uint64_t make_word(Kind kind, uint32_t payload_cells, uint32_t class_id) {
  return static_cast<uint64_t>(kind) | uint64_t{payload_cells} << 8 | uint64_t{class_id} << 32;
}
constexpr Kind kind_of(uint64_t word) { return static_cast<Kind>(word & 0xff); }
constexpr uint32_t payload_cells_of(uint64_t word) { return (word >> 8) & 0xffffff; }
constexpr uint32_t class_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

// Class 0: the payload's text begins with the name, because the registry was full or the name too long for it.
inline constexpr uint32_t kInlineNameClass = 0;

// ---- Slots ---------------------------------------------------------------------------------------------------------

// A ring is cut into blocks and no record crosses the end of one, so that whoever lost the way finds it again at a
// block.
inline constexpr uint32_t kBlocks = 8;
inline constexpr uint32_t kLossCauses = 16;  // loss.h
inline constexpr uint32_t kSideCells = 64;

enum class SlotState : uint32_t {
  Unused = 0,      // never touched: its memory is not there yet
  Live = 1,        // a thread's, or a queue's
  Retired = 2,     // its owner is gone, the collector has still to read it
  Free = 3,        // read to the end: may be taken again
  Allocating = 4,  // a thread is getting memory for it
};

// What a thread keeps while it records, or while it only counts its depth; or what a device's queue does. Owner means
// the slot's thread, or whoever holds the queue.
struct Slot {
  // The owner's line. A store touches nothing else but the ring.
  alignas(64) std::atomic<uint64_t> head;  // cells written so far
  std::atomic<uint64_t> limit;             // cells that may be written before the slow path must look
  std::atomic<uint32_t> busy;              // the owner is inside a store: a signal handler must use the side buffer
  int32_t depth;                           // ranges pushed and not popped, whether or not they were recorded
  Cell* cells;                             // the ring, where the owner has it mapped
  uint64_t mask;                           // cells - 1
  std::atomic<uint32_t> side_count;        // cells of `side` in use
  uint32_t epoch;                          // of the last Sync
  uint64_t next_handle;                    // for range_start: taken from the process in runs

  // The collector's line.
  alignas(64) std::atomic<uint64_t> tail;  // cells read and safe in the file

  // The owner's cold line.
  alignas(64) uint64_t last_handle;
  Slot* before;            // where the thread was before it had a ring: kept, a handler may have interrupted its use
  uint64_t dropped_depth;  // ranges open whose beginning was dropped: their ends are dropped with them
  std::atomic<uint64_t> lost_ends;  // ends that found no room anywhere
  uint32_t side_dropped;            // ranges open whose beginning the side buffer did not take: dropped whole, likewise
  uint32_t side_open;               // ranges open whose beginning it took: their ends have a place in it
  std::atomic<uint64_t> blocked_ticks;
  uint64_t retry_at;  // of a slot without a ring: when to look for one again
  uint32_t index;     // of this slot; kPrivateSlot when it has no ring
  std::atomic<uint32_t> tid;
  std::atomic<uint64_t> loss_first, loss_last;
  std::atomic<uint32_t> loss_pending;  // not yet written as Loss records: the sum, and by cause
  alignas(64) std::atomic<uint32_t> losses[kLossCauses];
  uint32_t name_length;  // 0: the system's name for the thread
  char name[48];
  kymo_queue* queue;       // whose the slot is, where the owner has it; null: a thread's
  uint64_t stated_before;  // a queue's: the end of the block in which it last said who it is
  uint64_t clock;          // a queue's: which of its device's, and how wide, for a collector that takes over
  uint32_t wrap_bits;
};

inline constexpr uint32_t kPrivateSlot = 0xffffffff;

// Classes this thread used lately, by name: the owner's alone, verified against the name before it is believed.
struct CachedName {
  uint64_t signature;  // of category, colour and fields
  const char* name;    // in the registry, where the owner has it mapped
  uint32_t length;
  uint32_t class_id;
};
inline constexpr uint32_t kCachedNames = 64;

// A slot's area in the segment: one page, then the ring.
struct SlotPage {
  Slot slot;
  CachedName names[kCachedNames];
  Cell side[kSideCells];  // what a signal handler recorded while its thread was inside a store, until that thread moves
                          // it
};
static_assert(sizeof(SlotPage) <= kPage);

// ---- Registry ------------------------------------------------------------------------------------------------------

inline constexpr uint32_t kMaxClasses = 16384;
inline constexpr uint32_t kIndexEntries = 32768;  // open addressing: class ids by the hash of their entry
inline constexpr uint32_t kArenaBytes = 2 << 20;
inline constexpr uint32_t kMaxInternedName = 1024;

// One class in the arena, 8-byte aligned; then the fields {type, name length}, the name, the category, the fields'
// names.
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
  std::atomic<uint32_t> class_count;  // ids 1 … class_count were handed out
  std::atomic<uint32_t> arena_used;
  alignas(
      64) std::atomic<uint32_t> offsets[kMaxClasses + 1];  // of class id's entry in the arena + 1; 0: not there (yet)
  std::atomic<uint32_t> index[kIndexEntries];
  alignas(64) char arena[kArenaBytes];
};

// ---- The segment ---------------------------------------------------------------------------------------------------

inline constexpr uint32_t kMaxSlots = 4096;
inline constexpr uint32_t kOriginBytes = 8192;

enum class RingPolicy : uint32_t { Block = 0, Drop = 1, Overwrite = 2 };
enum class TickKind : uint32_t { Monotonic = 1, Tsc = 2, ArmCounter = 3 };  // as trace::ClockKind

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;  // sizeof(SegmentHeader), to the page
  uint64_t segment_bytes;
  uint64_t slot_bytes;  // of a slot's area: its page and its ring
  uint64_t slots_offset;
  uint32_t slot_capacity;
  uint32_t ring_cells;
  uint8_t segment[16];  // the file's name, in hex
  uint8_t writer[16];   // whose the records are: another with each session
  uint8_t session[16];
  uint32_t pid, parent_pid;
  uint64_t pid_namespace;     // that `pid` is of; 0: not known
  uint64_t process_identity;  // see segment.h: a pid alone may be another's by now, or this one's after exec
  TickKind tick_kind;
  std::atomic<uint32_t> policy;
  uint64_t ticks_per_second;                                                // 0: unknown
  uint64_t pair_ticks, pair_monotonic_ns, pair_realtime_ns, pair_error_ns;  // one clock pair, taken at creation
  uint64_t start_realtime_ns;
  uint64_t file_device, file_inode;  // the trace that its records belong to; 0: known by the session alone
  char file_path[1024];              // where that was, to see whether it still is; never to open it. Empty: too long

  // Between producers and the collector.
  alignas(64) std::atomic<uint32_t> wake;  // futex: the collector sleeps on it
  std::atomic<uint32_t> collector_sleeps;
  std::atomic<uint32_t> collector_attached;    // someone reads this segment
  std::atomic<uint32_t> closed;                // the collector is done: the process is to stop recording
  std::atomic<uint32_t> epoch;                 // another with each start of recording
  alignas(64) std::atomic<uint32_t> progress;  // futex: grows whenever a tail moved; blocked producers sleep on it
  std::atomic<uint32_t> blocked_producers;
  std::atomic<uint32_t> retired_slots;  // waiting for the collector
  std::atomic<uint32_t> slots_used;     // slots from here on are unused
  std::atomic<uint64_t> lost_without_slot;
  std::atomic<uint64_t> lost_without_slot_first, lost_without_slot_last;
  std::atomic<uint32_t> memory_was_full;      // a thread found no memory for a ring
  std::atomic<uint32_t> unrecorded_children;  // forked, and without a segment
  std::atomic<uint32_t> needs_collector;      // its process has none of its own, and may not write the trace
  std::atomic<uint64_t> alive_until;          // ticks: when a collector last saw the process alive

  std::atomic<uint32_t> slot_state[kMaxSlots];  // SlotState

  uint32_t origin_bytes;  // executable, then the command line: NUL-terminated strings
  char origin[kOriginBytes];

  alignas(64) Registry registry;
};

// Where the slots are. Whoever reads another process's segment keeps a copy that it has checked: the header may change.
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

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Is there a slot to look at? Its memory comes before its state says so.
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
