// api/memory: what is alive at one time.

#include "analyze/memory/holders.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "serve/api.h"

namespace kymo::serve {

namespace {

using Json = base::JsonWriter;

void write_holders(Json& json, std::string_view member, memory::Profile& profile, memory::GroupBy by) {
  constexpr size_t kMaxRows = 50;
  json.begin_array(member);
  for (const memory::Group& group : memory::distinct(profile, by, &memory::Group::left, kMaxRows)) {
    const memory::Holder holder = memory::describe(profile, group, by);
    json.begin_object();
    json.field("name", holder.name);
    if (!holder.where.empty()) json.field("where", holder.where);
    json.field("bytes", group.left.bytes);
    json.field("count", group.left.count);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string memory_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone) {
  const uint64_t file = query.number_or("file", UINT32_MAX, 0);
  const int64_t at = static_cast<int64_t>(query.number("at", INT64_MAX / 2));
  std::map<trace::WriterId, trace::Window> windows;
  {
    const View::Lock lock = view.lock();
    if (file >= view.sources().size()) throw BadRequest(base::format("file: there is no file {}", file), 404);
    windows = view.sources()[file]->between(0, at + 1);
  }
  if (!analyses.reopen) throw BadRequest("this viewer cannot read its files again", 404);
  trace::Reader reader = analyses.reopen(static_cast<uint32_t>(file), is_gone);
  reader.narrow(windows);
  // What it calls left is what is alive at the end of a window.
  memory::Profile profile = memory::read_profile(reader, {.only_alive = true});
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("file", file);
  json.field("at_ns", at);
  json.field("bytes", profile.end_bytes);
  json.field("blocks", profile.left.count);
  json.field("sampled", profile.sampled);
  json.begin_array("memories");
  for (size_t i = 0; i < profile.memories.size(); ++i) {
    json.begin_object();
    json.field("name", memory::memory_name(profile, i));
    json.field("bytes", profile.memories[i].in_use);
    json.field("peak_bytes", profile.memories[i].peak_bytes);
    json.end_object();
  }
  json.end_array();
  write_holders(json, "by_range", profile, memory::GroupBy::Range);
  write_holders(json, "by_stack", profile, memory::GroupBy::Stack);
  write_holders(json, "by_size", profile, memory::GroupBy::Size);
  json.end_object();
  return json.text();
}

}  // namespace kymo::serve
