// ADOL-C: operator overloading on scalars in C++. Four ways into it, all float64:
//
//     reverse    a tape of the program at each point; gradient(), hess_vec(), and from order 3 on hos_reverse() along the direction
//     hessian    the same tape; second derivatives by hessian()
//     forward    the same tape; forward mode by fov_forward(), a direction for each input
//     traceless  adtl::adouble, forward mode without a tape
//
// Debian: apt install g++ libadolc-dev libboost-dev nlohmann-json3-dev, then in the folder of this file:
//
//     g++ -std=c++17 -O1 adolc_adapter.cpp -o adolc_adapter -ladolc && gradfuzz sweep cmd:./adolc_adapter --family loops
//
// A tape holds the operations that were run; loops and branches are decided by values while it is made, at every point anew. `where` chooses
// one of two values, and does not go on the tape; sign, expm1 and log1p are not there. tensor_eval() is not asked: it interpolates between Taylor
// series, and loses digits where derivatives differ in size.

#include <adolc/adolc.h>
#include <adolc/adtl.h>

#include "kit.hpp"

namespace {

template <class Real>
double value_of(const Real& x);

template <>
double value_of(const adouble& x) {
  return x.value();
}

template <>
double value_of(const adtl::adouble& x) {
  return x.getValue();
}

template <class Real>
kit::Ops<Real> table() {
  using Args = const std::vector<Real>&;
  auto real = [](Real x) { return kit::Value<Real>(std::in_place_index<0>, std::move(x)); };
  kit::Ops<Real> ops = kit::overloaded<Real>();
  ops["maximum"] = [=](Args a) { return real(fmax(a[0], a[1])); };
  ops["minimum"] = [=](Args a) { return real(fmin(a[0], a[1])); };
  return ops;
}

// The same operations with the exponent as the constant that it is.
template <class Real>
kit::Value<Real> integer_power(const Real& x, double n) {
  return kit::Value<Real>(std::in_place_index<0>, pow(x, n));
}

template <class Real>
struct Common : kit::Way<Real> {
  Common() {
    this->ops = table<Real>();
    this->power = integer_power<Real>;
  }

  static std::vector<kit::Value<double>> plain(const std::vector<kit::Value<Real>>& outputs) {
    std::vector<kit::Value<double>> found;
    for (auto& y : outputs) found.push_back(kit::plain_of<Real>(y, value_of<Real>));
    return found;
  }
};

// The ways that make a tape.
struct Taped : Common<adouble> {
  static constexpr short TAG = 1;

  // What a driver says of the tape of F.
  virtual std::vector<double> derive(std::vector<double> xs, std::vector<double> v, std::size_t order) = 0;

  Answer differentiate(const Function& f, const std::vector<double>& xs, const std::vector<std::optional<double>>& weights,
                       const std::vector<double>& directions, const std::vector<std::string>& modes) override {
    Answer answer;
    double objective;
    trace_on(TAG);
    try {
      std::vector<adouble> reals(xs.size());
      for (std::size_t k = 0; k < xs.size(); ++k) reals[k] <<= xs[k];
      const auto outputs = f(reals);
      answer.outputs = plain(outputs);
      adouble sum = 0;
      for (std::size_t k = 0; k < outputs.size(); ++k)
        if (weights[k]) sum += *weights[k] * std::get<0>(outputs[k]);
      sum >>= objective;
    } catch (...) {
      trace_off();
      throw;
    }
    trace_off();
    if (!modes.empty() && !xs.empty()) answer.gradient = derive(xs, directions, modes.size());
    return answer;
  }

  // The drivers return a negative number where the tape does not fit the point; a kink or a tie is told by 0, 1 and 2.
  static void check(int rc, const char* driver) {
    if (rc < 0) throw std::runtime_error(std::string(driver) + " returns " + std::to_string(rc));
  }
};

struct Reverse : Taped {
  Reverse() {
    name = "reverse";
    orders = {0, 1, 2, 3, 4};
  }

  std::vector<double> derive(std::vector<double> xs, std::vector<double> v, std::size_t order) override {
    const int n = static_cast<int>(xs.size()), degree = static_cast<int>(order) - 1;
    std::vector<double> g(n);
    if (order == 1) check(gradient(TAG, n, xs.data(), g.data()), "gradient");
    if (order == 2) check(hess_vec(TAG, n, xs.data(), v.data(), g.data()), "hess_vec");
    if (order <= 2) return g;
    // Taylor coefficients of the gradient along x + t v; the one of t^degree times degree! is the derivative.
    double** X = myalloc2(n, degree);
    double** Z = myalloc2(n, degree + 1);
    double** Y = myalloc2(1, degree);
    for (int k = 0; k < n; ++k)
      for (int d = 0; d < degree; ++d) X[k][d] = d == 0 ? v[k] : 0;
    double y = 0, u = 1, factorial = 1;
    const int forward = hos_forward(TAG, 1, n, degree, degree + 1, xs.data(), X, &y, Y);
    const int reverse = hos_reverse(TAG, 1, n, degree, &u, Z);
    for (int d = 2; d <= degree; ++d) factorial *= d;
    for (int k = 0; k < n; ++k) g[k] = Z[k][degree] * factorial;
    myfree2(X);
    myfree2(Y);
    myfree2(Z);
    check(std::min(forward, reverse), "hos_reverse");
    return g;
  }
};

struct Hessian : Taped {
  Hessian() {
    name = "hessian";
    orders = {0, 2};
  }

  std::vector<double> derive(std::vector<double> xs, std::vector<double> v, std::size_t) override {
    const int n = static_cast<int>(xs.size());
    double** H = myalloc2(n, n);
    const int rc = hessian(TAG, n, xs.data(), H);  // the lower triangle
    std::vector<double> g(n, 0.0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) g[i] += (i >= j ? H[i][j] : H[j][i]) * v[j];
    myfree2(H);
    check(rc, "hessian");
    return g;
  }
};

struct Forward : Taped {
  Forward() {
    name = "forward";
    modes = {"fwd"};
  }

  // All inputs at once: a direction for each.
  std::vector<double> derive(std::vector<double> xs, std::vector<double>, std::size_t) override {
    const int n = static_cast<int>(xs.size());
    double** X = myalloc2(n, n);
    double** Y = myalloc2(1, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) X[i][j] = i == j;
    double y = 0;
    const int rc = fov_forward(TAG, 1, n, n, xs.data(), X, &y, Y);
    const std::vector<double> g(Y[0], Y[0] + n);
    myfree2(X);
    myfree2(Y);
    check(rc, "fov_forward");
    return g;
  }
};

struct Traceless : Common<adtl::adouble> {
  Traceless() {
    name = "traceless";
    modes = {"fwd"};
  }

  Answer differentiate(const Function& f, const std::vector<double>& xs, const std::vector<std::optional<double>>& weights,
                       const std::vector<double>& directions, const std::vector<std::string>& modes) override {
    Answer answer;
    std::vector<adtl::adouble> reals(xs.begin(), xs.end());
    for (std::size_t k = 0; k < xs.size(); ++k)
      for (std::size_t j = 0; j < adtl::getNumDir(); ++j) reals[k].setADValue(j, j == k);
    const auto outputs = f(reals);
    answer.outputs = plain(outputs);
    adtl::adouble sum = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (weights[k]) sum += *weights[k] * std::get<0>(outputs[k]);
    for (std::size_t k = 0; k < xs.size(); ++k) answer.gradient.push_back(sum.getADValue(k));
    return answer;
  }
};

}  // namespace

int main() {
  adtl::setNumDir(16);  // once, before there are numbers; no program has more inputs
  return kit::serve("adolc", "2.7.2", {std::make_shared<Reverse>(), std::make_shared<Hessian>(), std::make_shared<Forward>(), std::make_shared<Traceless>()});
}
