#include "push/warnings.h"

#include "base/printable.h"
#include "base/text.h"
#include "push/tables.h"

namespace kymo::push {

std::vector<std::string> warnings_of(const RowHead& head, const std::string& path) {
  const std::string file = base::printable(path);
  std::vector<std::string> texts;
  if (!head.damage.empty())
    texts.push_back(
        base::format("{} is damaged: {}; only what can be read is pushed", file, base::printable(head.damage)));
  if (head.lacks_end)
    texts.push_back(
        base::format("{} has no end: the file or its recording was cut off; only what is in it is pushed", file));
  if (head.left_out > 0)
    texts.push_back(base::format(
        "{} has more operations than one trace may have in the tables: {} are not counted; record fewer iterations",
        file, head.left_out));
  if (head.unnumbered > 0)
    texts.push_back(base::format(
        "{}: {} without a number from 0 to 18446744073709551615, which others have; kymo fleet stragglers does not "
        "compare such iterations",
        file, base::count_of(head.unnumbered, "iteration")));
  if (head.started < kFirstDate)
    texts.push_back(
        base::format("{} does not say when it was recorded, or says a time before 1971: it counts as of 1970, and kymo "
                     "fleet finds it with "
                     "--since 4000w",
                     file));
  return texts;
}

}  // namespace kymo::push
