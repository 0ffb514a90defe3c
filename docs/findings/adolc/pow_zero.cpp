// Derivatives of pow(x, n) at x = 0, n a constant: ADOL-C's reverse mode returns wrong numbers, its forward mode right ones.
//
//     gradient of pow(x, 1) is 1             fo_rev, case pow_op: where x is 0, the slope is taken to be 0
//     second derivatives of pow(x, 4) is 0   ho_rev, case pow_op: "coval is an int > 1" is a product of two factors, whatever n is, but for n = 3;
//     third derivative of pow(x, 3) is 6     there the coefficients of x^2 are multiplied by 2, and 6 is 8
//     fourth derivative of pow(x, 4) is 24
//     second derivative of pow(x, 0) is 0    uni5_for, ho_rev: a number that is none for every n <= 0
//
// Prints got and expected, and exits with 1 while they differ. Needs ADOL-C (Debian: libadolc-dev, libboost-dev); run it with:
//
//     g++ adolc/pow_zero.cpp -o adolc_pow_zero -ladolc && ./adolc_pow_zero

#include <adolc/adolc.h>

#include <cmath>
#include <cstdio>

// The derivative of an order by reverse mode over the Taylor series of x + t.
static double reverse(int order) {
  double x = 0, one = 1, found;
  if (order == 1) {
    gradient(1, 1, &x, &found);
    return found;
  }
  if (order == 2) {
    hess_vec(1, 1, &x, &one, &found);
    return found;
  }
  const int degree = order - 1;
  double **X = myalloc2(1, degree), **Y = myalloc2(1, degree), **Z = myalloc2(1, degree + 1), y, factorial = 1;
  for (int d = 0; d < degree; ++d) X[0][d] = d == 0;
  for (int d = 2; d <= degree; ++d) factorial *= d;
  hos_forward(1, 1, 1, degree, degree + 1, &x, X, &y, Y);
  hos_reverse(1, 1, 1, degree, &one, Z);
  return Z[0][degree] * factorial;
}

int main() {
  struct Case {
    double n;
    int order;
    double expected;
  };
  bool wrong = false;
  for (const Case c : {Case{1, 1, 1}, {2, 1, 0}, {2, 2, 2}, {4, 2, 0}, {5, 2, 0}, {3, 3, 6}, {4, 4, 24}, {0, 2, 0}}) {
    double value;
    trace_on(1);
    adouble x, y;
    x <<= 0.0;
    y = pow(x, c.n);
    y >>= value;
    trace_off();
    const double got = reverse(c.order);
    std::printf("ADOL-C: derivative %d of pow(x, %g) at 0: got %g, expected %g\n", c.order, c.n, got, c.expected);
    wrong = wrong || !(std::fabs(got - c.expected) < 1e-12);
  }
  std::puts(wrong ? "wrong" : "right");
  return wrong;
}
