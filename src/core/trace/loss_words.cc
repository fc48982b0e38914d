#include "trace/loss_words.h"

#include <string_view>

namespace kymo::trace {

namespace {

constexpr const char kEvent[] = "event", kRecord[] = "record";

constexpr LossWords kWords[] = {
    {LossCause::RingFull, "ring_full", kEvent, "because its ring was full (policy drop)",
     "because their rings were full (policy drop)"},
    {LossCause::CollectorStalled, "collector_stalled", kEvent,
     "because its ring was full and the collector stalled for a second (policy block gave up)",
     "because their rings were full and the collector stalled for a second (policy block gave up)"},
    {LossCause::Overwritten, "overwritten", kEvent, "overwritten by newer ones (policy overwrite)"},
    {LossCause::UnmatchedPop, "unmatched_pop", "pop", "without a push"},
    {LossCause::UnknownRange, "unknown_range", "range end", "without a begin, or ended twice"},
    {LossCause::NoSlot, "no_slot", kEvent, "because their thread had no ring"},
    {LossCause::SignalBufferFull, "signal_buffer_full", kEvent,
     "in signal handlers, because the buffer for them was full"},
    {LossCause::TextTruncated, "text_truncated", "text", "in part, because of the max length"},
    {LossCause::DamagedRecord, "damaged_record", kRecord, "incomplete, because writing was interrupted"},
    {LossCause::WriteFailed, "write_failed", kEvent, "because the file could not be written"},
    {LossCause::Clock, "clock", kEvent, "because the time is not known or could not be converted"},
    {LossCause::LateStart, "late_start", kEvent, "because the recording started too late"},
    {LossCause::Reported, "reported", "item", "reported by the profiler"},
    {LossCause::Unrecorded, "unrecorded", "process", "that could not record"},
    {LossCause::Truncated, "truncated", "byte", "because the trace was truncated while it was written"},
    {LossCause::NotImported, "not_imported", "part", "that could not be imported"},
    {LossCause::SamplesLost, "samples_lost", "sample", "because there was no space for them"},
    {LossCause::SamplingPaused, "sampling_paused", "pause", "of sampling, because the kernel found it too expensive"},
    {LossCause::NotDelivered, "not_delivered", "interface",
     "whose newest work on devices was not delivered before the process ended"},
    {LossCause::SourceDamaged, "source_damaged", "part", "that could not be imported"},
};

constexpr LossWords kOfANewerKymo = {LossCause{}, "unknown", kEvent, "for a reason this version does not know"};

}  // namespace

const LossWords& loss_words(LossCause cause) {
  for (const LossWords& words : kWords)
    if (words.cause == cause) return words;
  return kOfANewerKymo;
}

uint64_t lost_events(std::span<const Loss> losses) {
  uint64_t count = 0;
  for (const Loss& loss : losses) {
    const std::string_view thing = loss_words(loss.cause).thing;
    if (thing == kEvent || thing == kRecord) count += loss.count;
  }
  return count;
}

}  // namespace kymo::trace
