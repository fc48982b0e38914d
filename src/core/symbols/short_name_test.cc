#include "symbols/short_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace kymo::symbols {
namespace {

using ::testing::ElementsAre;

#define KYMO_STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
constexpr char kMap[] = "std::map<" KYMO_STRING ", std::vector<int, std::allocator<int> >, std::less<" KYMO_STRING
                        " >, std::allocator<std::pair<" KYMO_STRING
                        " const, std::vector<int, std::allocator<int> > > > >::operator[](" KYMO_STRING "&&)";
constexpr char kReduce[] =
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, at::native::func_wrapper_t<c10::Half, "
    "at::native::sum_functor<c10::Half, float, c10::Half>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
    "unsigned int, c10::Half, 4> >(at::native::ReduceOp<c10::Half, at::native::func_wrapper_t<c10::Half, "
    "at::native::sum_functor<c10::Half, float, c10::Half>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
    "unsigned int, c10::Half, 4>)";

struct Case {
  const char *name, *expected;
};

void check(std::initializer_list<Case> cases) {
  for (const Case& one : cases) EXPECT_EQ(short_name(one.name), one.expected) << one.name;
}

TEST(ShortNameTest, DefaultsOfTheStandardLibraryAreLeftOut) {
  check({
      {kMap, "std::map<std::string, std::vector<int>>::operator[]"},
      {KYMO_STRING "::_M_append(char const*, unsigned long)", "std::string::_M_append"},
      {"std::unique_ptr<Foo, std::default_delete<Foo> >::~unique_ptr()", "std::unique_ptr<Foo>::~unique_ptr"},
      {"std::unordered_map<int, Foo, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, Foo> > "
       ">::find(int const&)",
       "std::unordered_map<int, Foo>::find"},
      {"std::set<int, std::greater<int>, std::allocator<int> >::insert(int&&)",
       "std::set<int, std::greater<int>>::insert"},
      {"std::unique_ptr<Foo, Closer>::reset(Foo*)", "std::unique_ptr<Foo, Closer>::reset"},
      {"std::__1::vector<int, std::__1::allocator<int> >::push_back(int const&)", "std::vector<int>::push_back"},
      {"std::basic_string_view<char, std::char_traits<char> >::find(char, unsigned long) const",
       "std::string_view::find"},
      {"std::__cxx11::to_string[abi:cxx11](int)", "std::to_string"},
      {"void std::sort<int*, std::less<int> >(int*, int*, std::less<int>)", "std::sort<int*, std::less<int>>"},
      {"std::allocator<int>::allocate(unsigned long)", "std::allocator<int>::allocate"},
  });
}

TEST(ShortNameTest, ResultAndParametersAreLeftOut) {
  check({
      {"unsigned long const& std::min<unsigned long>(unsigned long const&, unsigned long const&)",
       "std::min<unsigned long>"},
      {"a::f(void (*)(int), int (&)[3])", "a::f"},
      {"decltype ((forward<void (&)(int)>({parm#1}))((forward<int>)({parm#2}))) std::invoke<void (&)(int), int>(void "
       "(&)(int), int&&)",
       "std::invoke<void (&)(int), int>"},
      {"decltype(auto) std::visit<Foo>(Foo&&)", "std::visit<Foo>"},
      {"void f<int>(int) requires Integral<int>", "f<int>"},
      {"std::enable_if<(4ul)<(5ul), int>::type pick<4ul>(int)", "pick<4ul>"},
      {"foo(int) [clone .cold]", "foo"},
      {"Foo::get() const &", "Foo::get"},
      {"non-virtual thunk to Foo::bar(int)", "Foo::bar"},
      {"std::ostream::write(char const*, long)@plt", "std::ostream::write@plt"},
      {"void (*get_handler(int))(double)", "void (*get_handler(int))(double)"},
      {"std::function<void (int, char const*)>::operator()(int, char const*) const",
       "std::function<void (int, char const*)>::operator()"},
  });
}

TEST(ShortNameTest, OperatorsKeepTheirSymbols) {
  check({
      {"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
       "std::operator<< <std::char_traits<char>>"},
      {"bool std::operator< <char, std::char_traits<char>, std::allocator<char> >(X const&, X const&)",
       "std::operator< <char>"},
      {"Foo::operator->() const", "Foo::operator->"},
      {"Foo::operator<=>(Foo const&) const", "Foo::operator<=>"},
      {"x::operator,(A, B)", "x::operator,"},
      {"Foo::operator>>(int)", "Foo::operator>>"},
      {"Foo::operator bool() const", "Foo::operator bool"},
      {"Foo::operator std::vector<int, std::allocator<int> >() const", "Foo::operator std::vector<int>"},
      {"operator new(unsigned long)", "operator new"},
      {"operator delete[](void*)", "operator delete[]"},
      {"operator\"\" _kb(unsigned long long)", "operator\"\" _kb"},
      {"my_operator<int>(int)", "my_operator<int>"},
  });
}

TEST(ShortNameTest, LambdasAndUnnamedNamespaces) {
  check({
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
      {"auto foo(int)::{lambda(auto:1)#1}::operator()<double>(double) const", "foo::{lambda#1}::operator()<double>"},
      {"work::Thing::run(int) const::{lambda()#2}::operator()() const", "work::Thing::run::{lambda#2}::operator()"},
      {"work::(anonymous namespace)::f::<lambda(double)>::operator()",
       "work::(anonymous namespace)::f::{lambda}::operator()"},
      {"(anonymous namespace)::Foo::operator()(int) const", "(anonymous namespace)::Foo::operator()"},
      {"int (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<int>"},
      {"main::$_0::operator()(int) const", "main::$_0::operator()"},
  });
}

TEST(ShortNameTest, RustAndGo) {
  check({
      {"core::ptr::drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$::"
       "h0123456789abcdef",
       "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>"},
      {"_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h89abcdef01234567",
       "<alloc::vec::Vec<T, A> as core::ops::drop::Drop>::drop"},
      {"main::h0123456789abcdef", "main"},
      {"main::hello", "main::hello"},
      {"slices.SortFunc[go.shape.[]int,go.shape.int]", "slices.SortFunc[[]int,int]"},
      {"main.(*Server).handle", "main.(*Server).handle"},
      {"runtime.goexit", "runtime.goexit"},
  });
  EXPECT_EQ(short_name("<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend::<core::iter::Map<I, F>>", 60),
            "<alloc::vec::Vec<…> as core::iter::Extend<…>>::extend::<…>");
}

TEST(ShortNameTest, OtherNamesStay) {
  for (const char* const name :
       {"", "main", "entry_SYSCALL_64_after_hwframe", "libfoo.so+0x1234", "(code of node)", "main._omp_fn.0",
        "torch/nn/modules/module.py(1501): _call_impl", "f (script.js:12)", "<module>", "write@plt",
        "<built-in method run_backward of torch._C._EngineBase object at 0x7f8>", "operator", "a<b", ">>", "((("})
    EXPECT_EQ(short_name(name), name);
}

TEST(ShortNameTest, ArgumentsAreLeftOutFromTheInside) {
  EXPECT_EQ(short_name(kMap, 46), "std::map<…>::operator[]");
  EXPECT_EQ(short_name(kMap, 50), "std::map<std::string, std::vector<…>>::operator[]");
  EXPECT_EQ(short_name(kReduce, 60), "at::native::reduce_kernel<512, 1, at::native::ReduceOp<…>>");
  EXPECT_EQ(short_name(kReduce, 40), "at::native::reduce_kernel<…>");
  EXPECT_EQ(short_name(kReduce, 24), "at::…::reduce_kernel<…>");
  EXPECT_EQ(short_name("work::detail::implementation::Engine::run(int)", 30), "work::…::Engine::run");
  EXPECT_EQ(short_name("a_very_long_name_of_one_function", 11), "a_ver…ction");
}

TEST(ShortNameTest, RowsOfATableStayDifferent) {
  EXPECT_THAT(short_names({"f(int)", "f(double)", "g(int)", "g(int)"}), ElementsAre("f(int)", "f(double)", "g", "g"));
  const std::string first = "work::run<std::vector<int, std::allocator<int> > >(int)";
  const std::string second = "work::run<std::vector<double, std::allocator<double> > >(int)";
  EXPECT_THAT(short_names({first, second}, 20),
              ElementsAre("work::run<std::vector<int>>", "work::run<std::vector<double>>"));
}

TEST(ShortNameTest, AnyTextIsShortenedInReasonableTime) {
  std::mt19937 random(7);
  const std::string_view parts[] = {
      "<",     ">", "(", ")",       "::",           "operator", " ",  ",",    "[",     "]",    "{",        "}",
      "std::", "a", "…", "lambda(", "basic_string", "$LT$",     "->", "char", "const", "\xff", "go.shape."};
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3'000; ++i) {
    std::string name;
    for (size_t left = random() % 60; left != 0; --left) name += parts[random() % std::size(parts)];
    const size_t width = 1 + random() % 30;
    const std::string shorter = short_name(name, width);
    EXPECT_LE(shorter.size(), 2 * name.size() + 8) << name;
    short_name(name, kAnyWidth);
  }
  for (const std::string_view part : parts) {
    std::string name;
    while (name.size() < 60'000) name += part;
    short_name(name);
    short_name("f" + name + "(int)");
  }
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested = i < 150 ? "f<" + nested + ", g<int>>" : nested + "::x<int>";
  EXPECT_LE(short_name(nested).size(), 110u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace kymo::symbols
