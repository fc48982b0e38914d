#include "query/event_texts.h"

#include "analyze/operation_name.h"
#include "trace/reader.h"

namespace kymo::query {

void EventTexts::load(const trace::WriterInfo& writer, const trace::Values& values,
                      std::span<const uint32_t> class_ids) {
  std::unique_ptr<convert::Classes>& classes = all_classes_[&writer];
  if (classes == nullptr) classes = std::make_unique<convert::Classes>(writer, class_count_);
  classes_ = classes.get();
  class_ids_ = class_ids;
  rows_.load(values, class_ids, *classes);
}

void EventTexts::describe(size_t event, const convert::Place& place, convert::Event& into) {
  const convert::ClassInfo& info = classes_->find(class_ids_[event]);
  into.place = &place;
  into.event_class = &info;
  into.values = rows_.row(event);
  into.name = info.event_class.name;
  if (!info.has_places) return;
  if (into.values.empty() && info.event_class.id != trace::kInlineName) return;
  row_.assign(into.values.begin(), into.values.end());
  name_ = trace::full_name(info.event_class.id == trace::kInlineName ? nullptr : &info.event_class, row_);
  into.name = name_;
}

uint32_t name_number(const convert::Event& event, const LoadedTraces& traces) {
  const convert::ClassInfo& info = *event.event_class;
  const bool is_inline = info.is_known && info.event_class.id == trace::kInlineName;
  const uint32_t number = is_inline ? traces.names.find(base::without_iteration_number(event.name))
                                    : traces.names.find(analyze::operation_name(info.event_class));
  return number == Dictionary::kNull ? traces.names.find(kOtherNames) : number;
}

}  // namespace kymo::query
