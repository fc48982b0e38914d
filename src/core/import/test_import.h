// For the tests of importers: imports a text and shows the trace as lines.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "import/builder/trace_builder.h"
#include "import/chrome.h"
#include "trace/reader.h"
#include "trace/test_support.h"
#include "trace/writer.h"

namespace kymo::import::testing {

// The events of a trace, one line each: "python/main X step cpu_op 10+5 d0 {a=1}". Sorted within a track by the order
// of the reader.
class Shown {
 public:
  using Read = int64_t (*)(ByteSource&, TraceBuilder&);
  explicit Shown(std::string_view bytes, Read read = read_chrome) {
    ByteSource source = ByteSource::of_memory(bytes);
    TraceBuilder builder;
    base_ns = read(source, builder);
    show(builder);
  }
  // With what the function adds. It returns when the times begin.
  explicit Shown(const std::function<int64_t(TraceBuilder&)>& fill) {
    TraceBuilder builder;
    base_ns = fill(builder);
    show(builder);
  }

  std::vector<std::string> lines, losses;
  int64_t base_ns = 0;
  uint64_t lost = 0, events = 0;

  bool has(const std::string& line) const { return std::find(lines.begin(), lines.end(), line) != lines.end(); }

 private:
  void show(TraceBuilder& builder) {
    trace::Writer writer(path_, trace::Writer::Mode::Create);
    builder.write(writer, base_ns, "test");
    writer.close();
    lost = builder.lost_count();
    events = builder.event_count();
    const trace::Reader reader(path_.string());
    for (const trace::Problem& problem : reader.problems()) lines.push_back("problem: " + problem.what);
    for (const auto& [id, info] : reader.writers())
      for (const trace::Loss& loss : info.losses) losses.push_back(base::format("{} {}", loss.count, loss.detail));
    for (const trace::EventChunk& chunk : reader.event_chunks()) show(reader, chunk);
  }

  void show(const trace::Reader& reader, const trace::EventChunk& chunk) {
    const trace::WriterInfo& info = reader.writers().at(chunk.writer);
    const trace::Track& track = info.tracks.at(chunk.track);
    const std::string place = info.origin.executable + "/" + track.name;
    trace::EventBatch batch;
    reader.read(chunk, batch);
    const auto class_of = [&](uint32_t id) { return &info.classes.at(id); };
    const auto text = [](const trace::EventClass& shape, const std::vector<trace::ValueCursor::Value>& row) {
      std::string values;
      for (size_t i = 0; i < row.size(); ++i)
        if (!shape.fields[i].name.empty())
          values += (values.empty() ? "" : " ") + shape.fields[i].name + "=" + trace::to_text(row[i]);
      return "{" + values + "}";
    };
    trace::ValueCursor values(batch.ranges.values);
    for (size_t i = 0; i < batch.ranges.size(); ++i) {
      const trace::EventClass& shape = *class_of(batch.ranges.class_id[i]);
      const auto& row = values.next(&shape);
      const uint64_t correlation = batch.ranges.correlation.empty() ? 0 : batch.ranges.correlation[i];
      const unsigned lane = batch.ranges.lane.empty() ? 0 : batch.ranges.lane[i];
      lines.push_back(
          base::format("{} range {} [{}] {}+{} d{}{}{} {}", place, trace::full_name(&shape, row), shape.category,
                       batch.ranges.end[i] - batch.ranges.duration[i], batch.ranges.duration[i], batch.ranges.depth[i],
                       lane != 0 ? base::format(" lane{}", lane) : std::string(),
                       correlation != 0 ? base::format(" c{}", correlation) : std::string(), text(shape, row)));
    }
    trace::ValueCursor point_values(batch.points.values);
    for (size_t i = 0; i < batch.points.size(); ++i) {
      const trace::EventClass& shape = *class_of(batch.points.class_id[i]);
      const auto& row = point_values.next(&shape);
      lines.push_back(base::format("{} point{} {} [{}] {} #{} {}", place, static_cast<int>(batch.points.kind[i]),
                                   trace::full_name(&shape, row), shape.category, batch.points.time[i],
                                   batch.points.id[i], text(shape, row)));
    }
    for (const trace::OpenRange& open : batch.closing)
      lines.push_back(base::format("{} open {} {}", place, class_of(open.class_id)->name, open.start));
  }

  trace::testing::TemporaryPath path_;
};

}  // namespace kymo::import::testing
