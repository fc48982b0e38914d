// More of the modules of glsl_samples.h: numbers, control flow, simdgroups.
#pragma once

#include "shader/emit/glsl_samples.h"

namespace kymo::shader::glsl_tests {

inline void sample_atomics(GlslModule& m) {
  Function& kernel = m.kernel("atomics");
  Variable& counts = m.buffer(kernel, "counts", m.types().atomic(m.number(TypeKind::UInt)));
  Variable& lows = m.buffer(kernel, "lows", m.types().atomic(m.number(TypeKind::Int)));
  Variable& reals = m.buffer(kernel, "reals", m.types().atomic(m.number(TypeKind::Float)));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  const auto at = [&](Variable& of, int32_t place) { return m.pointer_add(m.v(of), m.i(place)); };
  const auto call = [&](Intrinsic which, Variable& of, int32_t place, Value given) {
    return m.evaluate(m.intrinsic(which, {at(of, place), given}));
  };
  kernel.body = {
      m.declare(i, m.thread()),
      call(Intrinsic::AtomicAdd, counts, 0, m.v(i)),
      call(Intrinsic::AtomicSubtract, counts, 1, m.u(2)),
      call(Intrinsic::AtomicOr, counts, 2, m.binary(Operator::ShiftLeft, m.u(1), m.rem(m.v(i), m.u(32)))),
      call(Intrinsic::AtomicMax, counts, 3, m.v(i)),
      call(Intrinsic::AtomicMin, lows, 0, m.sub(m.i(0), m.as(TypeKind::Int, m.v(i)))),
      m.evaluate(m.intrinsic(Intrinsic::AtomicCompareExchange, {at(counts, 4), m.u(0), m.add(m.v(i), m.u(1))})),
      call(Intrinsic::AtomicAdd, reals, 0, m.mul(m.as(TypeKind::Float, m.v(i)), m.f(0.5F))),
      call(Intrinsic::AtomicMax, reals, 1, m.as(TypeKind::Float, m.v(i))),
      call(Intrinsic::AtomicStore, reals, 2,
           m.add(m.intrinsic(Intrinsic::AtomicExchange, {at(reals, 3), m.f(4)}), m.f(1))),
  };
}

// All of them at once, on three types; `active` leaves some lanes out of the second sum.
inline void sample_simdgroups(GlslModule& m) {
  Function& kernel = m.kernel("simdgroups");
  const Type* real = m.number(TypeKind::Float);
  Variable& x = m.buffer(kernel, "x", real);
  Variable& out = m.buffer(kernel, "out", real);
  Variable& wide = m.buffer(kernel, "wide", m.number(TypeKind::Long));
  Variable& bits = m.buffer(kernel, "bits", m.number(TypeKind::UInt));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Variable& own = m.local("own", real);
  Variable& lane = m.local("lane", m.number(TypeKind::UInt));
  Block body = {m.declare(i, m.thread()), m.declare(own, m.element(m.v(x), m.v(i))),
                m.declare(lane, m.intrinsic(Intrinsic::SimdLane))};
  int32_t next = 0;
  const auto give = [&](Variable& to, Value value) {
    const Value place = m.add(m.mul(m.v(i), m.u(10)), m.u(static_cast<uint32_t>(next++ % 10)));
    body.push_back(m.set(m.element(m.v(to), place), value));
  };
  for (const Intrinsic which :
       {Intrinsic::SimdSum, Intrinsic::SimdProduct, Intrinsic::SimdMin, Intrinsic::SimdMax, Intrinsic::SimdInclusiveSum,
        Intrinsic::SimdExclusiveSum, Intrinsic::SimdInclusiveProduct, Intrinsic::SimdExclusiveProduct})
    give(out, m.intrinsic(which, {m.v(own)}));
  const Value even = m.eq(m.binary(Operator::And, m.v(lane), m.u(1)), m.u(0));
  give(out, m.intrinsic(Intrinsic::SimdSum, {m.v(own), even}));
  give(out, m.intrinsic(Intrinsic::SimdShuffle, {m.v(own), m.binary(Operator::Xor, m.v(lane), m.u(17))}));
  const Value as_long =
      m.sub(m.convert(m.number(TypeKind::Long), m.v(i)), m.constant_int(int64_t{1} << 40, TypeKind::Long));
  for (const Intrinsic which : {Intrinsic::SimdSum, Intrinsic::SimdMin, Intrinsic::SimdMax, Intrinsic::SimdXor})
    give(wide, m.intrinsic(which, {as_long}));
  give(wide, m.intrinsic(Intrinsic::SimdShuffle, {as_long, m.u(3)}));
  next = 0;
  give(bits, m.intrinsic(Intrinsic::SimdBallot, {m.gt(m.v(own), m.f(0.5F))}));
  give(bits, m.intrinsic(Intrinsic::SimdBallot, {m.constant_bool(true), even}));
  give(bits, m.intrinsic(Intrinsic::SimdAnd, {m.add(m.v(i), m.u(0x100))}));
  give(bits, m.intrinsic(Intrinsic::SimdOr, {m.v(i)}));
  give(bits, m.convert(m.number(TypeKind::UInt), m.intrinsic(Intrinsic::GroupAny, {m.eq(m.v(i), m.u(5))})));
  give(bits, m.intrinsic(Intrinsic::SimdIndex));
  kernel.body = body;
}

// Switches with fall-through on two widths; loops whose steps take several statements, with continues.
inline void sample_control(GlslModule& m) {
  Function& kernel = m.kernel("control");
  const Type *whole = m.number(TypeKind::Int), *wide = m.number(TypeKind::Long);
  Variable& out = m.buffer(kernel, "out", whole);
  Variable& i = m.local("i", whole);
  Variable& n = m.local("n", whole);
  Variable& k = m.local("k", whole);
  Variable& j = m.local("j", whole);
  Variable& d = m.local("d", whole);
  Variable& w = m.local("w", wide);
  const auto times = [&](int32_t by) { return m.set(m.v(n), m.mul(m.v(n), m.i(by))); };
  const auto wide_of = [&](int64_t value) { return m.constant_int(value, TypeKind::Long); };
  const auto is_odd = [&](Value x) { return m.ne(m.binary(Operator::And, x, m.i(1)), m.i(0)); };
  kernel.body = {
      m.declare(i, m.as(TypeKind::Int, m.thread())),
      m.declare(n, m.i(1)),
      m.switch_(m.v(i), {{{0, 1}, false, {times(2)}},
                         {{2}, false, {times(3), m.break_()}},
                         {{}, true, {times(5)}},
                         {{-7}, false, {times(7)}}}),
      m.declare(w, m.mul(m.convert(wide, m.v(i)), wide_of(int64_t{1} << 33))),
      m.switch_(m.v(w),
                {{{int64_t{1} << 33}, false, {times(11)}}, {{int64_t{2} << 33}, false, {times(13), m.break_()}}}),
      m.declare(k, m.i(0)),
      m.declare(j, m.i(0)),
      // for (; k < 10; k += 1, if (j > 3) j -= 2) { if (odd(k)) continue; n += k; j += 1; if (n > 200) break; }
      m.loop(m.lt(m.v(k), m.i(10)),
             {m.if_(is_odd(m.v(k)), {m.continue_()}), m.increase(n, m.v(k)), m.increase(j, m.i(1)),
              m.if_(m.gt(m.v(n), m.i(200)), {m.break_()})},
             {m.increase(k, m.i(1)), m.if_(m.gt(m.v(j), m.i(3)), {m.increase(j, m.i(-2))})}),
      m.declare(d, m.i(0)),
      m.do_loop({m.increase(d, m.i(1)), m.if_(is_odd(m.v(d)), {m.continue_()}), m.increase(n, m.i(1))},
                m.lt(m.v(d), m.i(6)), {m.increase(n, m.i(100))}),
      m.do_loop({m.increase(d, m.i(1))}, m.lt(m.v(d), m.i(12))),
      m.loop(nullptr, {m.increase(d, m.i(3)), m.if_(m.gt(m.v(d), m.i(20)), {m.break_()}, {m.increase(n, m.i(1000))})}),
      m.set(m.element(m.v(out), m.v(i)), m.add(m.add(m.v(n), m.v(j)), m.v(d))),
  };
}

// Every width of integers: counting bits, dividing, shifting, comparing.
inline void sample_integers(GlslModule& m) {
  Function& kernel = m.kernel("integers");
  Variable& in = m.buffer(kernel, "in", m.number(TypeKind::ULong));
  Variable& out = m.buffer(kernel, "out", m.number(TypeKind::Long));
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Block body = {m.declare(i, m.thread())};
  uint32_t next = 0;
  const Value given = m.element(m.v(in), m.v(i));
  const auto give = [&](Value value) {
    const Value wide = m.convert(m.number(TypeKind::Long), value);
    body.push_back(m.set(m.element(m.v(out), m.add(m.mul(m.v(i), m.u(40)), m.u(next++))), wide));
  };
  for (const TypeKind kind : {TypeKind::Char, TypeKind::UChar, TypeKind::Short, TypeKind::UShort, TypeKind::Int,
                              TypeKind::UInt, TypeKind::Long, TypeKind::ULong}) {
    const Value one = m.convert(m.number(kind), given);
    const Value two = m.splat(one, 2);
    for (const Intrinsic which : {Intrinsic::PopCount, Intrinsic::CountLeadingZeros, Intrinsic::ReverseBits})
      give(m.index(m.intrinsic(which, {two}), 1));
    const Value three = m.splat(m.constant(m.number(kind), 3), 2);
    give(m.index(m.intrinsic(Intrinsic::Max, {m.rem(two, three), m.div(two, three)}), 0));
    const bool any = kind != TypeKind::Long;
    give(m.convert(m.number(TypeKind::Int), m.intrinsic(any ? Intrinsic::Any : Intrinsic::All, {m.lt(two, three)})));
  }
  kernel.body = body;
}

inline void sample_numbers(GlslModule& m) {
  Function& kernel = m.kernel("numbers");
  const Type *real = m.number(TypeKind::Float), *real3 = m.number(TypeKind::Float, 3);
  Variable& x = m.buffer(kernel, "x", real);
  Variable& y = m.buffer(kernel, "y", real);
  Variable& z = m.buffer(kernel, "z", real);
  Variable& out = m.buffer(kernel, "out", real);
  Variable& i = m.local("i", m.number(TypeKind::UInt));
  Block body = {m.declare(i, m.thread())};
  uint32_t next = 0;
  const auto at = [&](Variable& of) { return m.element(m.v(of), m.v(i)); };
  const auto give = [&](Value value) {
    body.push_back(m.set(m.element(m.v(out), m.add(m.mul(m.v(i), m.u(24)), m.u(next++))), m.convert(real, value)));
  };
  for (const Intrinsic which : {Intrinsic::Abs, Intrinsic::Floor, Intrinsic::Ceil, Intrinsic::Trunc, Intrinsic::Rint,
                                Intrinsic::Sqrt, Intrinsic::Rsqrt, Intrinsic::IsNan, Intrinsic::IsInf})
    give(m.intrinsic(which, {at(x)}));
  for (const Intrinsic which : {Intrinsic::Fmin, Intrinsic::Fmax, Intrinsic::Fmod, Intrinsic::Copysign})
    give(m.intrinsic(which, {at(x), at(y)}));
  give(m.intrinsic(Intrinsic::Fma, {at(x), at(y), at(z)}));
  give(m.add(m.mul(at(x), at(y)), at(z)));
  give(m.index(m.intrinsic(Intrinsic::Fma, {m.splat(at(x), 3), m.splat(at(y), 3), m.splat(at(z), 3)}), 2));
  const Value greater = m.gt(m.construct(real3, {at(x), at(y), at(z)}), m.splat(m.f(0), 3));
  give(m.index(m.intrinsic(Intrinsic::Select, {m.splat(at(x), 3), m.splat(at(y), 3), greater}), 1));
  give(m.intrinsic(Intrinsic::Select, {at(x), at(y), m.unary(Operator::Not, m.lt(at(x), at(y)))}));
  give(m.convert(m.number(TypeKind::Char), at(z)));
  give(m.convert(m.number(TypeKind::ULong), m.intrinsic(Intrinsic::Abs, {at(z)})));
  give(m.convert(m.number(TypeKind::BFloat), at(x)));
  give(m.convert(m.number(TypeKind::Half), at(x)));
  give(m.div(at(x), at(y)));
  kernel.body = body;
}

}  // namespace kymo::shader::glsl_tests
