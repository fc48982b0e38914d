// Random fills: every device gives the same numbers as the host, bit for bit.
#include <cmath>
#include <thread>

#include "device/random/test_values.h"
#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::Each;

class RandomFillTest : public OnEveryDevice {
 protected:
  // Fills on the device and on the host from the same state, and compares all bytes.
  template <class Run>
  static void expect_the_hosts(Tensor tensor, const random::Fill& fill, Run&& run) {
    constexpr uint64_t kSeed = 0x0123456789abcdef;
    manual_seed(kSeed);
    Tensor ahead = empty({12});
    uniform(ahead);  // so that the generator's offset is not 0
    run(tensor);
    std::vector<std::byte> expected(tensor.bytes());
    random::fill_on_host(fill, {kSeed, 3}, static_cast<uint64_t>(tensor.elements()), expected.data());
    EXPECT_EQ(tensor.to_host_bytes(), expected) << name_of(tensor.dtype()) << " " << tensor.shape().text();
  }
};
KYMO_ON_EVERY_DEVICE(RandomFillTest);

TEST_P(RandomFillTest, UniformNumbersMatchTheHost) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16})
    for (const int64_t count : {1, 3, 4, 1023, 100'001})
      expect_the_hosts(empty({count}, type), random::uniform_fill(type, -2, 3), [](Tensor& x) { uniform(x, -2, 3); });
}

TEST_P(RandomFillTest, NormalNumbersMatchTheHost) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16})
    for (const int64_t count : {1, 5, 1000, 300'007})
      expect_the_hosts(empty({count}, type), random::normal_fill(type, 0.5, 2), [](Tensor& x) { normal(x, 0.5, 2); });
}

TEST_P(RandomFillTest, AMillionNormalNumbersMatchTheHost) {
  expect_the_hosts(empty({4'000'000}), random::normal_fill(DType::F32, 0, 1), [](Tensor& x) { normal(x); });
}

TEST_P(RandomFillTest, IntegersMatchTheHost) {
  for (const DType type :
       {DType::I8, DType::U8, DType::I16, DType::I32, DType::U32, DType::I64, DType::F32, DType::F16})
    for (const int64_t count : {1, 7, 10'001})
      expect_the_hosts(empty({count}, type), random::integer_fill(type, 0, 100), [](Tensor& x) { randint(x, 0, 100); });
  expect_the_hosts(empty({1000}, DType::I64), random::integer_fill(DType::I64, INT64_MIN, INT64_MAX),
                   [](Tensor& x) { randint(x, INT64_MIN, INT64_MAX); });
}

TEST_P(RandomFillTest, BernoulliNumbersMatchTheHost) {
  for (const DType type : {DType::F32, DType::U8, DType::Bool, DType::F16, DType::I64})
    expect_the_hosts(empty({5003}, type), random::bernoulli_fill(type, 0.3), [](Tensor& x) { bernoulli(x, 0.3); });
}

TEST_P(RandomFillTest, AnUnalignedViewGetsTheSameNumbers) {
  Tensor whole = zeros({1003});
  expect_the_hosts(whole.slice(0, 1, 1002), random::normal_fill(DType::F32, 0, 1), [](Tensor& x) { normal(x); });
  EXPECT_EQ(whole.select(0, 0).to_host<float>()[0], 0.0f);
  EXPECT_EQ(whole.select(0, 1002).to_host<float>()[0], 0.0f);
}

TEST_P(RandomFillTest, InvalidTensorsAndParametersAreRefused) {
  Tensor x = empty({4, 4}), column = x.select(1, 0), whole = empty({4}, DType::I32);
  EXPECT_THROW(uniform(column), InvalidArgument);
  EXPECT_THROW(uniform(whole), InvalidArgument);
  EXPECT_THROW(uniform(x, 2, 1), InvalidArgument);
  EXPECT_THROW(uniform(x, 0, std::nan("")), InvalidArgument);
  EXPECT_THROW(normal(x, 0, -1), InvalidArgument);
  EXPECT_THROW(randint(whole, 5, 5), InvalidArgument);
  EXPECT_THROW(bernoulli(x, 1.5), InvalidArgument);
}

TEST_P(RandomFillTest, ThreadsThatShareAGeneratorGetDifferentNumbers) {
  manual_seed(1);
  std::vector<std::vector<float>> parts(4);
  std::vector<std::thread> threads;
  for (auto& part : parts) {
    threads.emplace_back([&part] {
      for (int i = 0; i < 10; ++i) {
        Tensor x = empty({8});
        uniform(x);
        const auto values = x.to_host<float>();
        part.insert(part.end(), values.begin(), values.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::vector<float> expected(320);
  random::fill_on_host(random::uniform_fill(DType::F32, 0, 1), {1, 0}, 320, expected.data());
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace kymo::device::tests
