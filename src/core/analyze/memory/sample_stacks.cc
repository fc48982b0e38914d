#include "analyze/memory/sample_stacks.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trace/definition.h"

namespace kymo::memory {

namespace {

constexpr uint64_t kFirstNode = 16;  // below: roots (docs/heap.md)
constexpr uint64_t kDefaultPeriodNs = 1'000'000;

// "1 kHz", "250 Hz". 0: the writer does not say it.
uint64_t period_of(const trace::WriterInfo& writer) {
  constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;
  for (const auto& [name, value] : writer.origin.metadata) {
    if (name != "sampling") continue;
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    const uint64_t hertz = value.ends_with(" kHz") ? 1000 * std::min<uint64_t>(number, 1'000'000) : number;
    if (hertz != 0 && hertz <= kNanosecondsPerSecond) return kNanosecondsPerSecond / hertz;
  }
  return 0;
}

}  // namespace

// The classes are recognized by names and fields, because a file may contain anything.
SampleStacks::Meaning SampleStacks::meaning_of(const trace::EventClass& one) {
  using trace::FieldType;
  const auto has = [&](std::initializer_list<std::pair<std::string_view, bool>> fields) {  // name, and whether a text
    return std::equal(one.fields.begin(), one.fields.end(), fields.begin(), fields.end(),
                      [](const trace::Field& field, const auto& wanted) {
                        return field.name == wanted.first && (field.type == FieldType::String) == wanted.second &&
                               field.type != FieldType::Double;
                      });
  };
  if (one.category == "cpu" && one.name == "sample" && has({{"node", false}})) return Meaning::Sample;
  if (one.category == "cpu" && one.name == "on CPU" && has({{"ns", false}})) return Meaning::OnCpu;
  if (one.category == "cpu" && one.name == "off CPU" && has({{"ns", false}, {"preempted", false}}))
    return Meaning::OffCpu;
  if (one.category == "cpu" && one.name == "off CPU" && has({{"ns", false}, {"preempted", false}, {"node", false}}))
    return Meaning::Wait;
  if (one.category == "cpu" && one.name == "page fault" &&
      (has({{"address", false}, {"count", false}, {"node", false}}) ||
       has({{"address", true}, {"count", false}, {"node", false}})))  // of an imported file
    return Meaning::PageFault;
  if (!trace::is_definition(one)) return Meaning::None;
  if (one.name == "stack node" && has({{"node", false}, {"parent", false}, {"address", false}})) return Meaning::Node;
  if (one.name == "module" && has({{"path", true}, {"base", false}, {"size", false}, {"build_id", true}}))
    return Meaning::Module;
  if (one.name == "symbol" && has({{"address", false}, {"name", true}})) return Meaning::Symbol;
  return Meaning::None;
}

bool SampleStacks::are_in(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.classes, [](const auto& one) { return meaning_of(one.second) == Meaning::Sample; });
}

StackId SampleStacks::stack_of(const Nodes& nodes, uint64_t node) {
  if (const auto known = nodes.find(node); known != nodes.end()) return known->second;
  const bool is_cut = node < kFirstNode && node >= static_cast<uint64_t>(Stacks::Cut::NoTables) &&
                      node <= static_cast<uint64_t>(Stacks::Cut::TooDeep);
  return is_cut ? stacks_.cut(static_cast<Stacks::Cut>(node)) : 0;
}

// A recorded point has a node of its thread, an imported one has a stack of the file's tables.
StackId SampleStacks::stack_of_point(const trace::WriterInfo& info, const Writer& writer, uint32_t track, uint64_t id,
                                     uint64_t node) {
  if (id != 0 && id <= UINT32_MAX) return stacks_.listed(writer.number, info, static_cast<uint32_t>(id));
  return stack_of(nodes_[{info.id, track}], node);
}

SampleStacks::Taken SampleStacks::take(const trace::WriterInfo& info, uint32_t track,
                                       const trace::EventClass& event_class, uint64_t id, const Row& row) {
  const auto [entry, is_new] = writers_.try_emplace(info.id);
  Writer& writer = entry->second;
  if (is_new) {
    writer.number = static_cast<uint32_t>(writers_.size() - 1);
    for (const auto& [id, one] : info.classes) writer.classes[id].meaning = meaning_of(one);
  }
  const auto found = writer.classes.find(event_class.id);
  if (found == writer.classes.end() || row.size() != event_class.fields.size()) return {};
  switch (found->second.meaning) {
    case Meaning::Sample:
      return {.kind = Kind::Sample, .stack = stack_of_point(info, writer, track, id, row[0].bits)};
    case Meaning::Wait:
      return {.kind = Kind::OffCpu,
              .stack = stack_of_point(info, writer, track, id, row[2].bits),
              .has_stack = true,
              .ns = row[0].bits,
              .is_preempted = row[1].bits != 0};
    case Meaning::PageFault:
      return {
          .kind = Kind::PageFault, .stack = stack_of_point(info, writer, track, id, row[2].bits), .count = row[1].bits};
    case Meaning::OffCpu:
      return {.kind = Kind::OffCpu, .ns = row[0].bits, .is_preempted = row[1].bits != 0};
    case Meaning::OnCpu:
      return {.kind = Kind::OnCpu, .ns = row[0].bits};
    case Meaning::Node: {
      Nodes& nodes = nodes_[{info.id, track}];
      nodes[row[0].bits] = stacks_.called(stack_of(nodes, row[1].bits), writer.number, row[2].bits);
      return {};
    }
    case Meaning::Module:
      stacks_.loaded(writer.number, std::string(row[0].text), std::string(row[3].text), row[1].bits, row[2].bits);
      return {};
    case Meaning::Symbol:
      stacks_.named(writer.number, row[0].bits, std::string(row[1].text));
      return {};
    case Meaning::None:
      return {};
  }
  return {};
}

uint64_t sample_period_ns(const trace::Reader& reader, const trace::WriterInfo& writer) {
  if (const uint64_t own = period_of(writer); own != 0) return own;
  for (const auto& [id, other] : reader.writers())
    if (const uint64_t period = period_of(other); period != 0) return period;
  return kDefaultPeriodNs;
}

}  // namespace kymo::memory
