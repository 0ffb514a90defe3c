// CppAD: operator overloading on scalars in C++. Five ways into it, all float64:
//
//     reverse    a tape of the program at each point, ADFun; Forward() to the order below, then Reverse(), which gives the gradient of a Taylor coefficient
//     optimized  the same, after optimize() of the tape
//     forward    Forward(1, ...), a direction for each input
//     hessian    Jacobian() and Hessian()
//     nested     AD<AD<double>>: the gradient of an inner tape is recorded on an outer one
//
// Debian 13: apt install g++ libcppad-dev nlohmann-json3-dev, then in the folder of this file:
//
//     g++ -std=c++17 -O1 cppad_adapter.cpp -o cppad_adapter -lcppad_lib && gradfuzz sweep cmd:./cppad_adapter --family loops,functions
//
// A tape holds the operations that were run; loops and branches are decided by values while it is made, at every point anew. maximum and minimum are
// conditional expressions on the tape.

#include <cppad/cppad.hpp>

#include "kit.hpp"

namespace {

using Number = CppAD::AD<double>;
using Outer = CppAD::AD<Number>;
using Numbers = std::vector<double>;

double value_of(const Number& x) { return CppAD::Value(CppAD::Var2Par(x)); }
double value_of(const Outer& x) { return value_of(CppAD::Value(CppAD::Var2Par(x))); }

template <class Real>
kit::Ops<Real> table() {
  using Args = const std::vector<Real>&;
  auto real = [](Real x) { return kit::Value<Real>(std::in_place_index<0>, std::move(x)); };
  kit::Ops<Real> ops = kit::overloaded<Real>();
  ops["atan2"] = [=](Args a) { return real(atan2(a[0], a[1])); };
  ops["asin"] = [=](Args a) { return real(asin(a[0])); };
  ops["acos"] = [=](Args a) { return real(acos(a[0])); };
  ops["atan"] = [=](Args a) { return real(atan(a[0])); };
  ops["sinh"] = [=](Args a) { return real(sinh(a[0])); };
  ops["cosh"] = [=](Args a) { return real(cosh(a[0])); };
  ops["asinh"] = [=](Args a) { return real(asinh(a[0])); };
  ops["acosh"] = [=](Args a) { return real(acosh(a[0])); };
  ops["atanh"] = [=](Args a) { return real(atanh(a[0])); };
  ops["expm1"] = [=](Args a) { return real(expm1(a[0])); };
  ops["log1p"] = [=](Args a) { return real(log1p(a[0])); };
  ops["log10"] = [=](Args a) { return real(log10(a[0])); };
  ops["erf"] = [=](Args a) { return real(erf(a[0])); };
  ops["erfc"] = [=](Args a) { return real(erfc(a[0])); };
  ops["sign"] = [=](Args a) { return real(sign(a[0])); };
  ops["maximum"] = [=](Args a) { return real(CppAD::CondExpGt(a[0], a[1], a[0], a[1])); };
  ops["minimum"] = [=](Args a) { return real(CppAD::CondExpLt(a[0], a[1], a[0], a[1])); };
  return ops;
}

// The same operations with the exponent as the constant that it is.
template <class Real>
kit::Value<Real> integer_power(const Real& x, double n) {
  return kit::Value<Real>(std::in_place_index<0>, pow(x, static_cast<int>(n)));
}

template <class Real>
struct Common : kit::Way<Real> {
  Common() {
    this->ops = table<Real>();
    this->power = integer_power<Real>;
  }

  // The weighted sum of the outputs, on the tape that is being made; their values go to `answer`.
  Real objective(const typename kit::Way<Real>::Function& f, const std::vector<Real>& xs, const std::vector<std::optional<double>>& weights,
                 typename kit::Way<Real>::Answer& answer) {
    const auto outputs = f(xs);
    Real sum(0.0);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (weights[k]) sum += Real(*weights[k]) * std::get<0>(outputs[k]);
    for (auto& y : outputs) answer.outputs.push_back(kit::plain_of<Real>(y, [](const Real& x) { return value_of(x); }));
    return sum;
  }
};

// A recording that is given up when the program raises.
struct Recording {
  ~Recording() { CppAD::AD<double>::abort_recording(); }
};

// The ways that make one tape.
struct Taped : Common<Number> {
  // What is asked of the tape of F.
  virtual Numbers derive(CppAD::ADFun<double>& tape, const Numbers& xs, const Numbers& v, std::size_t order) = 0;

  Answer differentiate(const Function& f, const Numbers& xs, const std::vector<std::optional<double>>& weights, const Numbers& directions,
                       const std::vector<std::string>& modes) override {
    Answer answer;
    std::vector<Number> reals(xs.begin(), xs.end()), sums(1);
    if (modes.empty() || xs.empty()) {
      sums[0] = objective(f, reals, weights, answer);
      return answer;
    }
    CppAD::ADFun<double> tape;
    {
      Recording guard;
      CppAD::Independent(reals);
      sums[0] = objective(f, reals, weights, answer);
      tape.Dependent(reals, sums);
    }
    tape.check_for_nan(false);  // an answer that is not a number is an answer
    answer.gradient = derive(tape, xs, directions, modes.size());
    return answer;
  }
};

struct Reverse : Taped {
  Reverse() {
    name = "reverse";
    orders = {0, 1, 2, 3, 4};
  }

  // The Taylor coefficient of t^(order - 1) of F(x + t v) times (order - 1)! is the derivative of that order along v.
  Numbers derive(CppAD::ADFun<double>& tape, const Numbers& xs, const Numbers& v, std::size_t order) override {
    const Numbers zeros(xs.size(), 0.0);
    tape.Forward(0, xs);
    double factorial = 1;
    for (std::size_t d = 1; d < order; ++d) {
      tape.Forward(d, d == 1 ? v : zeros);
      factorial *= static_cast<double>(d);
    }
    const Numbers found = tape.Reverse(order, Numbers{1.0});
    Numbers g;
    for (std::size_t k = 0; k < xs.size(); ++k) g.push_back(found[k * order + order - 1] * factorial);
    return g;
  }
};

struct Optimized : Reverse {
  Optimized() { name = "optimized"; }

  Numbers derive(CppAD::ADFun<double>& tape, const Numbers& xs, const Numbers& v, std::size_t order) override {
    tape.optimize();
    return Reverse::derive(tape, xs, v, order);
  }
};

struct Forward : Taped {
  Forward() {
    name = "forward";
    modes = {"fwd"};
  }

  Numbers derive(CppAD::ADFun<double>& tape, const Numbers& xs, const Numbers&, std::size_t) override {
    tape.Forward(0, xs);
    Numbers g;
    for (std::size_t k = 0; k < xs.size(); ++k) {
      Numbers unit(xs.size(), 0.0);
      unit[k] = 1;
      g.push_back(tape.Forward(1, unit)[0]);
    }
    return g;
  }
};

struct Hessian : Taped {
  Hessian() {
    name = "hessian";
    orders = {0, 1, 2};
  }

  Numbers derive(CppAD::ADFun<double>& tape, const Numbers& xs, const Numbers& v, std::size_t order) override {
    if (order == 1) return tape.Jacobian(xs);
    const Numbers rows = tape.Hessian(xs, 0);
    Numbers g(xs.size(), 0.0);
    for (std::size_t i = 0; i < xs.size(); ++i)
      for (std::size_t j = 0; j < xs.size(); ++j) g[i] += rows[i * xs.size() + j] * v[j];
    return g;
  }
};

struct Nested : Common<Outer> {
  Nested() {
    name = "nested";
    orders = {0, 2};
  }

  Answer differentiate(const Function& f, const Numbers& xs, const std::vector<std::optional<double>>& weights, const Numbers& directions,
                       const std::vector<std::string>& modes) override {
    Answer answer;
    std::vector<Number> middle(xs.begin(), xs.end()), slope(1);
    std::vector<Outer> inner(middle.begin(), middle.end()), sums(1);
    if (modes.empty() || xs.empty()) {
      sums[0] = objective(f, inner, weights, answer);
      return answer;
    }
    CppAD::ADFun<double> tape;
    {
      Recording guard;
      CppAD::Independent(middle);
      inner.assign(middle.begin(), middle.end());
      CppAD::ADFun<Number> first;
      struct InnerRecording {
        ~InnerRecording() { CppAD::AD<Number>::abort_recording(); }
      } inner_guard;
      CppAD::Independent(inner);
      sums[0] = objective(f, inner, weights, answer);
      first.Dependent(inner, sums);
      first.check_for_nan(false);
      const std::vector<Number> gradient = first.Jacobian(middle);
      slope[0] = 0;
      for (std::size_t k = 0; k < xs.size(); ++k) slope[0] += gradient[k] * directions[k];
      tape.Dependent(middle, slope);
    }
    tape.check_for_nan(false);
    answer.gradient = tape.Jacobian(xs);
    return answer;
  }
};

}  // namespace

int main() {
  const std::string package = CPPAD_PACKAGE_STRING;  // cppad-20250000.2
  return kit::serve("cppad", package.substr(package.find('-') + 1),
                    {std::make_shared<Reverse>(), std::make_shared<Optimized>(), std::make_shared<Forward>(), std::make_shared<Hessian>(),
                     std::make_shared<Nested>()});
}
