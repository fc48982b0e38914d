#include "sample/event_classes.h"

namespace kymo::sample {

const std::vector<trace::EventClass>& event_classes() {
  using trace::FieldType;
  static const std::vector<trace::EventClass> all = {
      {kSample, "sample", "cpu", 0, {{"node", FieldType::UInt}}},
      {kOffCpu, "off CPU", "cpu", 0, {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}}},
      {kNode,
       "stack node",
       "kymo.stack",
       0,
       {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}}},
      {kModule,
       "module",
       "kymo.stack",
       0,
       {{"path", FieldType::String},
        {"base", FieldType::Pointer},
        {"size", FieldType::ByteCount},
        {"build_id", FieldType::String}}},
      {kSymbol, "symbol", "kymo.stack", 0, {{"address", FieldType::Pointer}, {"name", FieldType::String}}},
      {kOnCpu, "on CPU", "cpu", 0, {{"ns", FieldType::UInt}}},
      {kWait,
       "off CPU",
       "cpu",
       0,
       {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}}},
      {kPageFault,
       "page fault",
       "cpu",
       0,
       {{"address", FieldType::Pointer}, {"count", FieldType::UInt}, {"node", FieldType::UInt}}},
  };
  return all;
}

}  // namespace kymo::sample
