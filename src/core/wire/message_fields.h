// The fields of every message and record: number, name, member. The same code writes and reads them (field_codec.h).
//
// In one version of the protocol, a number is never reused for another field of the same message. `needed` fields must
// be present. All others keep their default if they are missing. A reader skips unknown numbers.
#pragma once

#include <type_traits>

#include "wire/message.h"

namespace kymo::wire {

// A T or a const T.
template <class M, class T>
concept MaybeConst = std::is_same_v<std::remove_const_t<M>, T>;

void each_field(MaybeConst<Hello> auto& m, auto&& field) {
  field.needed(1, "version", m.version);
  field.needed(2, "oldest_version", m.oldest_version);
  field.needed(3, "role", m.role);
  field.needed(4, "pid", m.pid);
  field(7, "name", m.name);
  field(8, "command_line", m.command_line);
  field(9, "job", m.job);
  field(16, "kymo_version", m.kymo_version);
}

void each_field(MaybeConst<Welcome> auto& m, auto&& field) {
  field.needed(1, "version", m.version);
  field(3, "kymo_version", m.kymo_version);
  field(9, "output_folders", m.output_folders);
  field(10, "dynolog", m.dynolog);
  field(11, "network_namespace", m.network_namespace);
  field(12, "dynolog_problem", m.dynolog_problem);
}

void each_field(MaybeConst<Refused> auto& m, auto&& field) {
  field.needed(1, "code", m.code);
  field(2, "message_type", m.message_type);
  field(3, "text", m.text);
}

void each_field(MaybeConst<TraceOptions> auto& m, auto&& field) {
  field(1, "start_at_ns", m.start_at_ns);
  field(2, "boot_id", m.boot_id);
  field(3, "duration_ns", m.duration_ns);
  field(4, "iterations", m.iterations);
  field(5, "iteration_roundup", m.iteration_roundup);
  field(6, "last_ns", m.last_ns);
  field.needed(9, "output", m.output);
  field(10, "format", m.format);
  field(11, "flags", m.flags);
}

void each_field(MaybeConst<Start> auto& m, auto&& field) {
  field.needed(1, "id", m.id);
  field.needed(2, "options", m.options);
  field.needed(3, "kind", m.kind);
  field(4, "pid", m.pid);
  field(5, "asked_at_ns", m.asked_at_ns);
}

void each_field(MaybeConst<Cancel> auto& m, auto&& field) {
  field.needed(1, "id", m.id);
  field(2, "keep", m.keep);
}

void each_field(MaybeConst<Status> auto& m, auto&& field) {
  field.needed(1, "id", m.id);
  field.needed(2, "state", m.state);
  field(3, "progress", m.progress);
  field(4, "text", m.text);
}

// Its fields are in three messages, from the number `first` on.
void outcome_fields(auto& m, auto&& field, uint16_t first) {
  field.needed(first, "state", m.state);
  field(first + 1, "path", m.path);
  field(first + 2, "bytes", m.bytes);
  field(first + 3, "events", m.events);
  field(first + 4, "losses", m.losses);
  field(first + 5, "late_ns", m.late_ns);
  field(first + 6, "took_ns", m.took_ns);
  field(first + 7, "text", m.text);
}

void each_field(MaybeConst<Done> auto& m, auto&& field) {
  field.needed(1, "id", m.id);
  outcome_fields(m, field, 2);
  field.needed(10, "kind", m.kind);
}

void each_field(MaybeConst<Selection> auto& m, auto&& field) {
  field(1, "pids", m.pids);
  field(2, "names", m.names);
  field(3, "job", m.job);
  field(4, "except", m.except);
}

void each_field(MaybeConst<List> auto& m, auto&& field) { field(1, "selection", m.selection); }

void each_field(MaybeConst<ProcessEntry> auto& m, auto&& field) {
  field.needed(1, "pid", m.pid);
  field(2, "uid", m.uid);
  field(3, "protocol", m.protocol);
  field(4, "parents", m.parents);
  field(5, "name", m.name);
  field(6, "command_line", m.command_line);
  field(7, "job", m.job);
  field(8, "started_at_ns", m.started_at_ns);
  field(9, "seen_at_ns", m.seen_at_ns);
  field(11, "request_id", m.request_id);
  field(12, "state", m.state);
}

void each_field(MaybeConst<ListReply> auto& m, auto&& field) {
  field(1, "processes", m.processes);
  field(2, "more", m.more);
}

void each_field(MaybeConst<Trigger> auto& m, auto&& field) {
  field(1, "selection", m.selection);
  field(2, "process_limit", m.process_limit);
  field(4, "follow", m.follow);
  field.needed(5, "options", m.options);
  field.needed(6, "kind", m.kind);
}

void each_field(MaybeConst<TriggerTarget> auto& m, auto&& field) {
  field.needed(1, "pid", m.pid);
  field(2, "request_id", m.request_id);
  field(3, "state", m.state);
  field(4, "path", m.path);
  field(5, "text", m.text);
  field(6, "polls", m.polls);
}

void each_field(MaybeConst<TriggerReply> auto& m, auto&& field) {
  field.needed(1, "trigger_id", m.trigger_id);
  field(2, "targets", m.targets);
  field(3, "text", m.text);
  field(4, "more", m.more);
}

void each_field(MaybeConst<TriggerUpdate> auto& m, auto&& field) {
  field.needed(1, "trigger_id", m.trigger_id);
  field.needed(2, "pid", m.pid);
  field(3, "progress", m.progress);
  field(4, "targets_left", m.targets_left);
  outcome_fields(m, field, 5);
}

void each_field(MaybeConst<CancelTrigger> auto& m, auto&& field) {
  field.needed(1, "trigger_id", m.trigger_id);
  field(2, "keep", m.keep);
}

void each_field(MaybeConst<History> auto& m, auto&& field) { field(1, "trigger_id", m.trigger_id); }

void each_field(MaybeConst<HistoryEntry> auto& m, auto&& field) {
  field.needed(1, "trigger_id", m.trigger_id);
  field.needed(2, "pid", m.pid);
  field(3, "uid", m.uid);
  field(4, "name", m.name);
  field(5, "asked_at_ns", m.asked_at_ns);
  field(6, "ended_at_ns", m.ended_at_ns);
  outcome_fields(m, field, 7);
}

void each_field(MaybeConst<HistoryReply> auto& m, auto&& field) {
  field(1, "entries", m.entries);
  field(2, "more", m.more);
}

}  // namespace kymo::wire
