// The size of a range in the file when times are not regular: a million ranges of 16 names. Bodies and gaps are
// pseudo-random busy loops of 20 ns to 1 us.
//
//   bench_bytes FOLDER
#include <sys/stat.h>

#include <array>
#include <string>

#include "kymo/annotate.h"
#include "kymo/session.h"
#include "measure.h"
#include "report.h"

namespace {

constexpr unsigned kRanges = 1'000'000;
constexpr double kShortestNs = 20, kLongestNs = 1000;

constinit std::array<kymo::Site, 16> sites = {
    kymo::Site{"parse"},   kymo::Site{"lookup"},    kymo::Site{"hash"},     kymo::Site{"insert"},
    kymo::Site{"compare"}, kymo::Site{"copy"},      kymo::Site{"encode"},   kymo::Site{"send"},
    kymo::Site{"receive"}, kymo::Site{"decode"},    kymo::Site{"allocate"}, kymo::Site{"release"},
    kymo::Site{"sort"},    kymo::Site{"partition"}, kymo::Site{"merge"},    kymo::Site{"reduce"}};

class Random {
 public:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15u;
};

void busy_until(uint64_t moment) {
  while (bench::ticks() < moment) continue;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/bytes.kymo";
  const double ns_per_tick = bench::Meter().ns_per_tick();
  const auto shortest = static_cast<uint64_t>(kShortestNs / ns_per_tick);
  const auto spread = static_cast<uint64_t>((kLongestNs - kShortestNs) / ns_per_tick);
  Random random;
  kymo::Session session(path);
  for (unsigned i = 0; i < kRanges; ++i) {
    const uint64_t draw = random.next();
    busy_until(bench::ticks() + shortest + (draw >> 8) % spread);
    const kymo::Range range{sites[draw % sites.size()]};
    busy_until(bench::ticks() + shortest + (draw >> 32) % spread);
  }
  session.close();
  struct stat file {};
  stat(path.c_str(), &file);
  const double bytes = static_cast<double>(file.st_size) / kRanges;
  bench::row("bytes_random", "bytes a range, 16 names, bodies and gaps of 20 ns to 1 us", bench::text("%.2f", bytes),
             "<= 3.5", bytes <= 3.5);
}
