// `kymo roofline`: operations and bytes of kernels against the peaks of their GPU, as a table and as a picture.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "analyze/report/gpu_use.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "commands/read/report.h"
#include "options/command_line.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using analyze::GpuRow;
using analyze::GpuUse;
using analyze::Roofline;

struct Point {
  std::string name;
  const GpuRow* row;
  Roofline line;
};

std::vector<Point> points_of(const GpuUse& use) {
  std::vector<Point> points;
  for (const GpuRow& row : use.kernels)
    if (const auto line = use.roofline(row)) points.push_back({row.name, &row, *line});
  return points;
}

std::string tera(double value) {
  return value < 1e14 ? base::format("{:.3g}", value / 1e12) : base::format("{:.0f}", value / 1e12);
}

std::string table_of(const GpuUse& use, const std::vector<Point>& points) {
  base::TextTable table({"total", "operations/byte", "TFLOP/s", "TB/s", "of the roof"}, {{"limit"}, {"kernel"}});
  std::vector<std::string> names;
  for (const Point& one : points) names.push_back(one.name);
  names = symbols::short_names(names);
  for (size_t i = 0; i < points.size(); ++i) {
    const Roofline& line = points[i].line;
    table.add({duration_text(points[i].row->total_ns), base::format("{:.3g}", line.intensity()), tera(line.operations),
               tera(line.bytes), base::format("{:.0f} %", 100 * line.share()), std::string(line.limit()),
               base::printable(names[i])});
  }
  const Roofline& any = points.front().line;
  return base::format("{}: {} TB/s of DRAM, {} TFLOP/s of 32-bit floats, {} TFLOP/s of tensor cores (16-bit floats)\n",
                      base::printable(use.device), tera(any.peak_bytes), tera(any.peak), tera(any.tensor_peak)) +
         shown(table);
}

// Both axes are logarithmic.
class Picture {
 public:
  explicit Picture(const Roofline& peaks) : peaks_(peaks) {}

  std::string text(const GpuUse& use, const std::vector<Point>& points) {
    uint64_t longest = 1;
    for (const Point& one : points) longest = std::max(longest, one.row->total_ns);
    for (double decade = kLeft; decade <= kRight; decade *= 10) {
      line(decade, kBottom, decade, kTop, "#ddd");
      label(x(decade), kHeight - kMargin + 16, base::format("{:g}", decade), "middle");
    }
    for (double decade = kBottom; decade <= kTop; decade *= 10) {
      line(kLeft, decade, kRight, decade, "#ddd");
      label(kMargin - 6, y(decade) + 4, base::format("{:g}", decade / 1e12), "end");
    }
    roof(peaks_.tensor_peak, "tensor cores, 16 bits");
    roof(peaks_.peak, "32-bit floats");
    for (const Point& one : points) {
      const double at = std::clamp(one.line.intensity(), kLeft, kRight);
      const double operations = std::clamp(one.line.operations, kBottom, kTop);
      const double radius = 3 + 7 * std::sqrt(static_cast<double>(one.row->total_ns) / static_cast<double>(longest));
      body_ += base::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" "
          "fill-opacity=\"0.7\"><title>{}</title></circle>\n",
          x(at), y(operations), radius, one.line.is_of_tensor_cores() ? "#fb8c00" : "#1e88e5",
          escaped(base::format("{}: {:.3g} operations a byte, {} TFLOP/s, {} TB/s, {:.0f} % of the roof", one.name,
                               one.line.intensity(), tera(one.line.operations), tera(one.line.bytes),
                               100 * one.line.share())));
      label(x(at) + radius + 3, y(operations) + 4, symbols::short_name(one.name, 40), "start");
    }
    label(kWidth / 2, kHeight - 12, "operations for each byte of DRAM", "middle");
    label(kMargin, kMargin - 16, base::format("TFLOP/s, {}", use.device), "start");
    return base::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" "
        "height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
        kWidth, kHeight, body_);
  }

 private:
  static constexpr double kWidth = 900, kHeight = 600, kMargin = 60;
  static constexpr double kLeft = 0.01, kRight = 10'000, kBottom = 1e9, kTop = 1e16;

  static std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : base::printable(text))
      safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return safe;
  }
  static double x(double at) {
    return kMargin + (kWidth - 2 * kMargin) * std::log10(at / kLeft) / std::log10(kRight / kLeft);
  }
  static double y(double operations) {
    return kHeight - kMargin - (kHeight - 2 * kMargin) * std::log10(operations / kBottom) / std::log10(kTop / kBottom);
  }
  void line(double x1, double y1, double x2, double y2, const char* colour) {
    body_ += base::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x(x1),
                          y(y1), x(x2), y(y2), colour);
  }
  void label(double at_x, double at_y, std::string_view text, const char* anchor) {
    body_ += base::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor,
                          escaped(text));
  }
  void roof(double peak, const char* what) {
    const double knee = peak / peaks_.peak_bytes;
    line(kLeft, std::max(kLeft * peaks_.peak_bytes, kBottom), knee, peak, "#555");
    line(knee, peak, kRight, peak, "#555");
    label(kWidth - kMargin, y(peak) - 5, base::format("{}: {} TFLOP/s", what, tera(peak)), "end");
  }

  const Roofline& peaks_;
  std::string body_;
};

std::string as_json(const std::string& path, const std::vector<GpuUse>& uses) {
  base::JsonWriter json;
  json.begin_object();
  json.field("file", path);
  json.objects("gpus", uses, [&](const GpuUse& use) {
    json.field("device", use.device);
    json.field("other_processes", use.has_others);
    json.objects("kernels", points_of(use), [&](const Point& one) {
      json.field("name", one.name);
      json.field("total_ns", one.row->total_ns);
      json.field("gpu_samples", one.row->samples);
      json.field("operations_per_s", one.line.operations);
      json.field("tensor_operations_per_s", one.line.tensor_operations);
      json.field("bytes_per_s", one.line.bytes);
      json.field("share_of_roof", one.line.share());
      json.field("limit", one.line.limit());
      json.field("peak_operations_per_s", one.line.peak);
      json.field("peak_tensor_operations_per_s", one.line.tensor_peak);
      json.field("peak_bytes_per_s", one.line.peak_bytes);
    });
  });
  json.end_object();
  return json.text();
}

}  // namespace

int roofline(const Arguments& arguments) {
  std::string path, output;
  bool json = false;
  options::CommandLine line(
      "roofline", "kymo roofline FILE [-o PICTURE]",
      "Shows what kernels compute and move against the peaks of their GPU, from its counters: operations for each "
      "byte\n"
      "of DRAM, operations and bytes a second, and how near that is to what the GPU could do with so many operations "
      "for\neach byte. The picture has both axes logarithmic, and a circle for each kernel, as large as its time.\n"
      "Operations are what the pipes can do in the cycles in which they are active, so they are at most so many.",
      "kymo roofline run.kymo -o roofline.svg");
  line.argument("FILE", path, "the trace");
  line.value("-o,--output", "PICTURE", output, "write a picture: SVG");
  line.flag("--json", json, "print everything as JSON");
  if (!line.read(arguments)) return kDone;
  const trace::Reader reader = open_trace(path);
  std::vector<GpuUse> uses;
  {
    const ReadProgress progress(reader, "reading " + path);
    uses = analyze::gpu_use(reader);
  }
  std::erase_if(uses, [](const GpuUse& use) { return points_of(use).empty(); });
  if (json) {
    print(as_json(path, uses));
  } else if (uses.empty()) {
    print(
        "no roofline: no kernel has enough samples of the counters SM cycles per second, DRAM read and FMA pipe "
        "active\n"
        "(kymo record takes them where the driver permits it)\n");
  }
  std::string text;
  for (const GpuUse& use : uses) text += table_of(use, points_of(use));
  if (!json) print(text);
  if (uses.empty()) return kIncomplete;
  if (output.empty()) return kDone;
  const std::vector<Point> points = points_of(uses.front());
  std::ofstream file(output, std::ios::binary);
  file << Picture(points.front().line).text(uses.front(), points);
  file.close();
  if (!file) throw Error(base::format("cannot write {}", base::printable(output)));
  return kDone;
}

}  // namespace kymo::cli
