// Derivatives of atan2 where one argument is a constant: CppAD returns 0 for each.
//
//     atan2 chooses a quadrant by nested conditional expressions. One that compares two constants gives its result the value of the chosen operand and not its
//     place on the tape: CondExpGe(1, 0, u, v) is the number that u has, and its derivative is 0.
//
// Prints got and expected, and exits with 1 while they differ. Needs CppAD (Debian 13: libcppad-dev); run it with:
//
//     g++ -std=c++17 cppad/atan2_constant.cpp -o atan2_constant -lcppad_lib && ./atan2_constant

#include <cmath>
#include <cppad/cppad.hpp>
#include <cstdio>
#include <vector>

using Number = CppAD::AD<double>;

// The slope of a function at x.
template <class Function>
static double slope(double x, Function function) {
  std::vector<Number> in{Number(x)}, out(1);
  CppAD::Independent(in);
  out[0] = function(in[0]);
  CppAD::ADFun<double> tape(in, out);
  return tape.Jacobian(std::vector<double>{x})[0];
}

static bool wrong(const char* what, double got, double expected) {
  std::printf("CppAD: the derivative of %s: got %.17g, expected %.17g\n", what, got, expected);
  return !(std::fabs(got - expected) < 1e-12);
}

int main() {
  const double x = 0.5;
  bool any = false;
  any |= wrong("atan2(1, x) at 0.5", slope(x, [](Number u) { return atan2(Number(1.0), u); }), -1.0 / (x * x + 1.0));
  any |= wrong("atan2(x, 1) at 0.5", slope(x, [](Number u) { return atan2(u, Number(1.0)); }), 1.0 / (x * x + 1.0));
  any |= wrong("CondExpGe(1, 0, x, -x) at 0.5", slope(x, [](Number u) { return CppAD::CondExpGe(Number(1.0), Number(0.0), u, -u); }), 1.0);
  std::puts(any ? "wrong" : "right");
  return any;
}
