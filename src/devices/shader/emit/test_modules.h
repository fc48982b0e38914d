// Small modules, built by hand, for the tests of emitters: each shows one thing.
#pragma once

#include "shader/emit/test_module_builder.h"

namespace kymo::shader::test {

// x[i] = x[i] * a + 1.5
inline void saxpy(ir::Module& module) {
  ModuleBuilder b(module, "saxpy");
  const auto x = b.buffer("x", TypeKind::Float), a = b.given("a", b.type(TypeKind::Float));
  const auto i = b.thread();
  b.put(b.element(x, i), b.plus(b.times(b.element(x, i), a), b.constant_float(1.5F)));
}

// Swizzles read and written, comparisons, selection, components with a changing index.
inline void vectors(ir::Module& module) {
  ModuleBuilder b(module, "vectors");
  const auto in = b.buffer("in", b.vector(TypeKind::Float, 4)), out = b.buffer("out", b.vector(TypeKind::Float, 4));
  const auto i = b.thread();
  const auto v = b.let("v", b.element(in, i));
  b.put(b.swizzle(v, "zx"), b.plus(b.swizzle(v, "xy"), b.splat(b.constant_float(1), 2)));
  b.put(b.index(v, i), b.times(b.index(v, i), b.constant_float(10)));
  const auto big = b.let("big", b.binary(Operator::Greater, v, b.splat(b.constant_float(2), 4)));
  b.put(v, b.intrinsic(Intrinsic::Select, {b.unary(Operator::Negate, v), v, big}));
  b.put(b.element(out, i), v);
  b.put(
      b.swizzle(b.element(out, i), "yw"),
      b.construct(b.vector(TypeKind::Float, 2), {b.convert(b.type(TypeKind::Float), b.intrinsic(Intrinsic::Any, {big})),
                                                 b.index(b.intrinsic(Intrinsic::Floor, {v}), 3)}));
  b.put(b.index(b.element(out, i), 0), b.index(b.binary(Operator::Divide, v, b.splat(b.constant_float(3), 4)), 0));
}

// Half and bfloat in memory, alone and in vectors; one rounding an operation.
inline void halves(ir::Module& module) {
  ModuleBuilder b(module, "halves");
  const auto h = b.buffer("h", TypeKind::Half), h4 = b.buffer("h4", b.vector(TypeKind::Half, 4)),
             bf = b.buffer("bf", TypeKind::BFloat), bf3 = b.buffer("bf3", b.vector(TypeKind::BFloat, 3));
  const auto i = b.thread();
  const Type* f = b.type(TypeKind::Float);
  const auto sum = [&](TypeKind kind, Builder::Value at, uint32_t count) {
    const Type* wide = count == 1 ? f : b.vector(TypeKind::Float, count);
    const Type* narrow = count == 1 ? b.type(kind) : b.vector(kind, count);
    const auto step = count == 1 ? b.constant_float(0.1F) : b.splat(b.constant_float(0.1F), count);
    return b.convert(narrow, b.plus(b.convert(wide, at), step));
  };
  b.put(b.element(h, i), sum(TypeKind::Half, b.element(h, i), 1));
  b.put(b.element(h4, i), sum(TypeKind::Half, b.element(h4, i), 4));
  b.put(b.element(bf, i), sum(TypeKind::BFloat, b.element(bf, i), 1));
  b.put(b.element(bf3, i), sum(TypeKind::BFloat, b.element(bf3, i), 3));
  b.put(b.index(b.element(h4, i), 1), b.element(h, i));
}

inline const Type* record(Builder& b) {
  Type* made = b.types().make_struct("Record", nullptr);
  b.types().complete(*made, {{"flag", b.type(TypeKind::Bool), 0},
                             {"weight", b.type(TypeKind::Half), 0},
                             {"position", b.vector(TypeKind::Float, 3), 0},
                             {"next", b.types().pointer(b.type(TypeKind::Float), Space::Device), 0},
                             {"counts", b.types().array(b.type(TypeKind::Short), 3), 0}});
  return made;
}

// A structure whose two forms differ: whole, by members, through a pointer in it.
inline void records(ir::Module& module) {
  ModuleBuilder b(module, "records");
  const Type* type = record(b);
  const auto all = b.buffer("all", type);
  const auto one = b.given("one", type);
  const auto i = b.thread();
  const auto r = b.let("r", b.element(all, i));
  b.put(b.member(r, "flag"), b.logical_not(b.member(r, "flag")));
  b.put(b.member(r, "weight"), b.member(one, "weight"));
  b.put(b.index(b.member(r, "position"), 1), b.constant_float(7));
  b.put(b.index(b.member(r, "counts"), i), b.index(b.member(one, "counts"), 2));
  b.put(b.element(b.member(r, "next"), i), b.index(b.member(r, "position"), 2));
  b.put(b.element(all, i), r);
  b.put(b.index(b.member(b.element(all, i), "counts"), 0), b.constant_int(5, TypeKind::Short));
}

// Arrays as values: built, copied, passed, returned, and with a changing index.
inline void arrays(ir::Module& module) {
  ModuleBuilder b(module, "arrays");
  const Type* integer = b.type(TypeKind::Int);
  const Type* four = b.types().array(integer, 4);
  ir::Function& reverse = b.function("reverse", four);
  {
    const auto from = b.variable(b.parameter(reverse, "from", four));
    ir::Variable& to = b.local("to", four);
    ir::Variable& k = b.local("k", integer);
    reverse.body = {b.declare(to),
                    b.block({b.declare(k, b.number(0)),
                             b.loop(b.less(b.variable(k), b.number(4)),
                                    {b.assign(b.index(b.variable(to), b.variable(k)),
                                              b.index(from, b.binary(Operator::Subtract, b.number(3), b.variable(k))))},
                                    {b.assign(b.variable(k), b.plus(b.variable(k), b.number(1)))})}),
                    b.return_(b.variable(to))};
  }
  module.functions = {&reverse, &b.kernel};
  const auto out = b.buffer("out", four);
  const auto i = b.thread();
  const auto at = b.convert(integer, i);
  const auto a = b.let("a", b.construct(four, {b.number(1), b.number(2), at, b.number(4)}));
  const auto c = b.let("c", b.call(reverse, {a}));
  const auto zeros = b.let("zeros", b.zero(four));
  const auto rows = b.let("rows", b.types().array(four, 2), b.construct(b.types().array(four, 2), {a, c}));
  b.put(b.index(zeros, 1), b.index(b.index(rows, 1), i));
  b.put(b.element(out, i), c);
  b.put(b.index(b.element(out, i), 3), b.index(zeros, 1));
}

// Functions that take pointers in three spaces; arithmetic with them.
inline void pointers(ir::Module& module) {
  ModuleBuilder b(module, "pointers");
  const Type* f = b.type(TypeKind::Float);
  ir::Function& bump = b.function("bump", b.type(TypeKind::Void));
  const auto mine = b.variable(b.parameter(bump, "mine", b.pointer(f, Space::Thread)));
  const auto from = b.variable(b.parameter(bump, "from", b.pointer(f, Space::Device)));
  const auto shared = b.variable(b.parameter(bump, "shared", b.pointer(f, Space::Threadgroup)));
  bump.body = {b.assign(b.deref(mine), b.plus(b.deref(from), b.element(shared, b.number(1))))};
  module.functions = {&bump, &b.kernel};
  const auto x = b.buffer("x", TypeKind::Float);
  const auto far = b.buffer("far", TypeKind::Long);
  const auto group = b.group_array("group", b.types().array(f, 8));
  const auto i = b.thread();
  const auto lane = b.let("lane", b.position(Intrinsic::GroupPosition, 0));
  b.put(b.index(group, lane), b.element(x, i));
  b.add(b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)));
  const auto sum = b.let("sum", b.constant_float(0));
  b.add(b.evaluate(b.call(bump, {b.address_of(sum), b.address_of(b.element(x, i)), b.decay(group)})));
  const auto p = b.let("p", b.pointer_add(x, i));
  b.put(b.element(far, i), b.pointer_difference(p, x));
  b.put(b.deref(p), sum);
}

// Threads of all groups count, and add floats, in one place.
inline void atomics(ir::Module& module) {
  ModuleBuilder b(module, "atomics");
  const auto count = b.buffer("count", b.types().atomic(b.type(TypeKind::Int)));
  const auto total = b.buffer("total", b.types().atomic(b.type(TypeKind::Float)));
  const auto i = b.thread();
  const auto group = b.group_array("group", b.types().atomic(b.type(TypeKind::UInt)));
  const auto lane = b.let("lane", b.position(Intrinsic::GroupPosition, 0));
  b.add(b.if_(b.binary(Operator::Equal, lane, b.constant_uint(0)),
              {b.evaluate(b.intrinsic(Intrinsic::AtomicStore, {b.address_of(group), b.constant_uint(0)}))}));
  b.add(b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)));
  b.add(b.evaluate(b.intrinsic(Intrinsic::AtomicMax, {b.address_of(group), lane})));
  b.add(b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)));
  const auto most = b.let("most", b.intrinsic(Intrinsic::AtomicLoad, {b.address_of(group)}));
  b.add(b.evaluate(b.intrinsic(Intrinsic::AtomicAdd, {count, b.convert(b.type(TypeKind::Int), most)})));
  b.add(b.evaluate(b.intrinsic(Intrinsic::AtomicAdd, {total, b.convert(b.type(TypeKind::Float), i)})));
  b.add(b.evaluate(b.intrinsic(
      Intrinsic::AtomicMin,
      {b.pointer_add(total, b.number(1)), b.unary(Operator::Negate, b.convert(b.type(TypeKind::Float), i))})));
  const auto seen = b.let("seen", b.intrinsic(Intrinsic::AtomicCompareExchange,
                                              {b.pointer_add(count, b.number(1)), b.number(7), b.number(9)}));
  b.add(b.evaluate(b.intrinsic(Intrinsic::AtomicOr, {b.pointer_add(count, b.number(2)), seen})));
}

// out = a * b for square matrices of n, in tiles of 8.
inline void matrix(ir::Module& module) {
  ModuleBuilder b(module, "matrix");
  const Type* f = b.type(TypeKind::Float);
  const Type* u = b.type(TypeKind::UInt);
  const auto a = b.buffer("a", f, Space::Constant), c = b.buffer("b", f, Space::Constant);
  const auto out = b.buffer("out", TypeKind::Float);
  const auto n = b.given("n", u);
  const Type* tile = b.types().array(b.types().array(f, 8), 8);
  const auto left = b.group_array("left", tile), right = b.group_array("right", tile);
  const auto at = b.let("at", b.swizzle(b.intrinsic(Intrinsic::GridPosition), "xy"));
  const auto lane = b.let("lane", b.swizzle(b.intrinsic(Intrinsic::GroupPosition), "xy"));
  const auto sum = b.let("sum", b.constant_float(0));
  ir::Variable& start = b.local("start", u);
  ir::Variable& k = b.local("k", u);
  const auto x = b.index(at, 0), y = b.index(at, 1), lx = b.index(lane, 0), ly = b.index(lane, 1);
  const auto cell = [&](Builder::Value t, Builder::Value row, Builder::Value column) {
    return b.index(b.index(t, row), column);
  };
  const auto in = [&](Builder::Value m, Builder::Value row, Builder::Value column) {
    return b.element(m, b.plus(b.times(row, n), column));
  };
  const auto barrier = [&] { return b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)); };
  const auto s = b.variable(start), kk = b.variable(k);
  b.add(b.block({b.declare(start, b.constant_uint(0)),
                 b.loop(b.less(s, n),
                        {b.assign(cell(left, ly, lx), in(a, y, b.plus(s, lx))),
                         b.assign(cell(right, ly, lx), in(c, b.plus(s, ly), x)), barrier(),
                         b.block({b.declare(k, b.constant_uint(0)),
                                  b.loop(b.less(kk, b.constant_uint(8)),
                                         {b.assign(sum, b.plus(sum, b.times(cell(left, ly, kk), cell(right, kk, lx))))},
                                         {b.assign(kk, b.plus(kk, b.constant_uint(1)))})}),
                         barrier()},
                        {b.assign(s, b.plus(s, b.constant_uint(8)))})}));
  b.put(in(out, y, x), sum);
}

// Every operation of simdgroups, of which the last may be partial.
inline void simdgroups(ir::Module& module) {
  ModuleBuilder b(module, "simdgroups");
  const auto in = b.buffer("in", TypeKind::Float), out = b.buffer("out", TypeKind::Float);
  const auto words = b.buffer("words", TypeKind::UInt);
  const auto wide = b.buffer("wide", TypeKind::Long);
  const auto i = b.thread();
  const auto v = b.let("v", b.element(in, i));
  const auto lane = b.let("lane", b.intrinsic(Intrinsic::SimdLane));
  const auto put = [&](int64_t k, Builder::Value value) {
    b.put(b.element(out, b.plus(b.times(i, b.constant_uint(8)), b.constant_uint(static_cast<uint64_t>(k)))), value);
  };
  put(0, b.intrinsic(Intrinsic::SimdSum, {v}));
  put(1, b.intrinsic(Intrinsic::SimdMax, {v}));
  put(2, b.intrinsic(Intrinsic::SimdInclusiveSum, {v}));
  put(3, b.intrinsic(Intrinsic::SimdExclusiveProduct, {v}));
  put(4, b.intrinsic(Intrinsic::SimdShuffle, {v, b.binary(Operator::Xor, lane, b.constant_uint(1))}));
  put(5, b.intrinsic(Intrinsic::SimdSum, {v, b.binary(Operator::NotEqual, lane, b.constant_uint(3))}));
  b.put(b.element(words, i),
        b.intrinsic(Intrinsic::SimdBallot, {b.binary(Operator::Greater, v, b.constant_float(20))}));
  b.put(b.element(wide, i), b.plus(b.intrinsic(Intrinsic::SimdSum, {b.convert(b.type(TypeKind::Long), i)}),
                                   b.convert(b.type(TypeKind::Long), b.intrinsic(Intrinsic::SimdIndex))));
}

// Labels that share a body, one that falls through, one that leaves, and the default.
inline void choices(ir::Module& module) {
  ModuleBuilder b(module, "choices");
  const auto out = b.buffer("out", TypeKind::Int);
  const auto i = b.thread();
  const auto which = b.let("which", b.binary(Operator::Remainder, b.convert(b.type(TypeKind::Int), i), b.number(6)));
  const auto sum = b.let("sum", b.number(0));
  const auto add = [&](int64_t value) { return b.assign(sum, b.plus(sum, b.number(value))); };
  b.add(b.switch_(which, {{{0, 1}, false, {add(1), b.break_()}},
                          {{2}, false, {add(10)}},
                          {{3}, false, {add(100), b.break_()}},
                          {{-2147483648LL}, true, {add(1000)}}}));
  b.put(b.element(out, i), sum);
}

// Loops whose step is more than an expression, with continue; do loops; one that never ends by itself.
inline void loops(ir::Module& module) {
  ModuleBuilder b(module, "loops");
  const auto out = b.buffer("out", TypeKind::Int);
  const auto i = b.thread();
  const auto sum = b.let("sum", b.number(0)), k = b.let("k", b.number(0));
  const auto one = b.number(1);
  ir::Variable& t = b.local("t", b.type(TypeKind::Int));
  const auto odd = b.binary(Operator::Equal, b.binary(Operator::And, k, one), one);
  b.add(b.loop(
      b.less(b.variable(t), b.number(10)), {b.if_(odd, {b.continue_()}), b.assign(sum, b.plus(sum, k))},
      {b.if_(b.less(k, b.number(5)), {b.assign(k, b.plus(k, one))}, {b.assign(k, b.plus(b.variable(t), b.number(2)))})},
      {b.declare(t, k)}));
  ir::Variable& u = b.local("t", b.type(TypeKind::Int));
  b.add(b.do_loop({b.assign(k, b.binary(Operator::Subtract, k, one)), b.if_(odd, {b.continue_()}),
                   b.assign(sum, b.plus(sum, b.number(100)))},
                  b.less(b.number(3), b.variable(u)), {b.declare(u, k)}));
  b.add(b.do_loop({b.assign(k, b.plus(k, one))}, b.less(k, b.number(6))));
  b.add(
      b.loop(nullptr, {b.assign(sum, b.plus(sum, b.number(1000))), b.if_(b.less(b.number(4000), sum), {b.break_()})}));
  b.put(b.element(out, i), sum);
}

// Constants of the program: a table, one of two dimensions, a text, a structure.
inline void constants(ir::Module& module) {
  ModuleBuilder b(module, "constants");
  const Type* f = b.type(TypeKind::Float);
  const Type* c = b.type(TypeKind::Char);
  const Type* two = b.types().array(f, 2);
  const auto text = b.variable(b.program_constant(
      "text", b.construct(b.types().array(c, 4),
                          {b.constant(c, 'H'), b.constant(c, 'i'), b.constant(c, '"'), b.constant(c, 0)})));
  const auto table = b.variable(b.program_constant(
      "table", b.construct(b.types().array(two, 2),
                           {b.construct(two, {b.constant_float(0.1F), b.constant_float(1e30F)}), b.zero(two)})));
  Type* pair = b.types().make_struct("Pair", nullptr);
  b.types().complete(*pair, {{"h", b.vector(TypeKind::Half, 2), 0}, {"edge", f, 0}, {"on", b.type(TypeKind::Bool), 0}});
  const auto h = b.construct(b.vector(TypeKind::Half, 2),
                             {b.constant_float(0.5F, TypeKind::Half), b.constant_float(-2.0F, TypeKind::Half)});
  const auto both =
      b.variable(b.program_constant("both", b.construct(pair, {h, b.constant(f, 0xff800000U), b.constant_bool(true)})));
  const auto out = b.buffer("out", TypeKind::Float);
  const auto i = b.thread();
  const auto copy = b.let("copy", both);
  const auto letters = b.let("letters", b.decay(text));
  b.put(b.element(out, b.number(0)), b.index(b.index(table, i), b.number(1)));
  b.put(b.element(out, b.number(1)), b.convert(f, b.element(letters, b.number(1))));
  b.put(b.element(out, b.number(2)), b.convert(f, b.index(b.member(copy, "h"), 1)));
  b.put(b.element(out, b.number(3)), b.member(copy, "edge"));
  b.put(b.element(out, b.number(4)), b.convert(f, b.convert(f, b.index(b.member(both, "h"), 0))));
}

// Conversions between kinds, as_type, vectors of small integers, packed vectors.
inline void conversions(ir::Module& module) {
  ModuleBuilder b(module, "conversions");
  const Type* f = b.type(TypeKind::Float);
  const auto packed = b.buffer("packed", b.types().vector(f, 3, true)),
             out = b.buffer("out", b.vector(TypeKind::Float, 3));
  const auto bytes = b.buffer("bytes", b.vector(TypeKind::UChar, 4)), words = b.buffer("words", TypeKind::UInt);
  const auto i = b.thread();
  const auto v = b.let("v", b.convert(b.vector(TypeKind::Float, 3), b.element(packed, i)));
  b.put(b.element(out, i), v);
  b.put(b.element(packed, i), b.convert(b.types().vector(f, 3, true), b.plus(v, v)));
  b.put(b.index(b.element(packed, i), 1), b.constant_float(-1));
  const Type* uchar4 = b.vector(TypeKind::UChar, 4);
  const auto four =
      b.let("four", b.binary(Operator::Add, b.element(bytes, i), b.splat(b.constant_uint(200, TypeKind::UChar), 4)));
  b.put(b.element(bytes, i),
        b.binary(Operator::ShiftRight, four,
                 b.convert(
                     b.vector(TypeKind::UInt, 4),
                     b.construct(uchar4, {b.constant_uint(1, TypeKind::UChar), b.constant_uint(2, TypeKind::UChar),
                                          b.constant_uint(3, TypeKind::UChar), b.constant_uint(4, TypeKind::UChar)}))));
  const auto h = b.convert(b.type(TypeKind::Half), b.index(v, 0));
  const auto both = b.construct(b.vector(TypeKind::Half, 2), {h, b.constant_float(1, TypeKind::Half)});
  b.put(b.element(words, i),
        b.binary(Operator::Xor, b.bitcast(b.type(TypeKind::UInt), both), b.bitcast(b.type(TypeKind::UInt), four)));
}

// Group memory as large as the caller says, and where threads and groups are.
inline void positions(ir::Module& module) {
  ModuleBuilder b(module, "positions");
  const auto out = b.buffer("out", b.vector(TypeKind::UInt, 4));
  const auto group = b.variable(
      b.binding(b.kernel, "scratch", BindingKind::Threadgroup, b.pointer(TypeKind::UInt, Space::Threadgroup)));
  const auto at = b.let("at", b.intrinsic(Intrinsic::GridPosition)),
             size = b.let("size", b.intrinsic(Intrinsic::GridSize));
  const auto lane = b.let("lane", b.position(Intrinsic::GroupPosition, 0));
  b.put(b.element(group, lane), b.index(at, 0));
  b.add(b.evaluate(b.intrinsic(Intrinsic::GroupBarrier, {}, 2)));
  const auto last = b.binary(Operator::Subtract, b.position(Intrinsic::GroupSize, 0), b.constant_uint(1));
  const auto i = b.let("i", b.plus(b.times(b.index(at, 1), b.index(size, 0)), b.index(at, 0)));
  const auto where = b.plus(b.times(b.position(Intrinsic::GroupIndex, 1), b.position(Intrinsic::GroupCount, 0)),
                            b.position(Intrinsic::GroupIndex, 0));
  b.put(b.element(out, i), b.construct(b.vector(TypeKind::UInt, 4),
                                       {b.element(group, last), where, b.position(Intrinsic::FullGroupSize, 0),
                                        b.index(b.intrinsic(Intrinsic::GroupSize), 1)}));
}

// Names that a target has for itself, and functions of one name.
inline void names(ir::Module& module) {
  ModuleBuilder b(module, "kernel");
  b.kernel.host_name = "my kernel<float>";
  const Type* f = b.type(TypeKind::Float);
  const Type* integer = b.type(TypeKind::Int);
  std::vector<ir::Function*> functions;
  for (const Type* type : {f, integer}) {
    ir::Function& scale = b.function("ns::scale", type);
    const auto x = b.variable(b.parameter(scale, "float", type));
    scale.body = {b.return_(b.binary(Operator::Add, x, x))};
    functions.push_back(&scale);
  }
  ir::Function& clamp = b.function("clamp", f);
  clamp.body = {b.return_(b.variable(b.parameter(clamp, "step", f)))};
  module.functions = {functions[0], functions[1], &clamp, &b.kernel};
  const auto out = b.buffer("global", f);
  const auto i = b.thread();
  ir::Variable& inner = b.local("i", f);
  b.add(b.block(
      {b.declare(inner, b.call(*functions[0], {b.constant_float(1)})),
       b.assign(b.element(out, i),
                b.call(clamp, {b.plus(b.variable(inner), b.convert(f, b.call(*functions[1], {b.number(2)})))}))}));
}

}  // namespace kymo::shader::test
