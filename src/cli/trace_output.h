// A trace that a command writes: it appears under its name when it is complete.
//
//   TraceOutput output(path, {input});
//   trace::Writer writer(output.temporary_path(), trace::Writer::Mode::Append);
//   …
//   output.commit();
#pragma once

#include <string>
#include <vector>

#include "base/atomic_file.h"

namespace kymo::cli {

// Throws kymo::Error if the output is one of the files that are read.
void refuse_input(const std::string& output, const std::vector<std::string>& inputs);

class TraceOutput {
 public:
  // An older trace is replaced. Throws kymo::Error if the file is one of `inputs`, or exists and is not a Kymo trace.
  TraceOutput(const std::string& path, const std::vector<std::string>& inputs);

  const std::string& temporary_path() const { return file_.temporary_path(); }
  void commit() { file_.commit(); }

 private:
  base::AtomicFile file_;
};

}  // namespace kymo::cli
