// An adapter to begin with: replace the toy by your library, and every line that says "yours".
//
// The toy is forward mode on scalars by dual numbers. Compile it, try it, then check yours in the same way:
//
//     g++ -std=c++17 -O1 toy_adapter.cpp -o toy_adapter          (Debian: apt install g++ nlohmann-json3-dev)
//     gradfuzz targets check ./toy_adapter
//     gradfuzz sweep cmd:./toy_adapter
//
// `kit.hpp` lies beside this file; it speaks the protocol, walks the programs, and turns exceptions into answers.

#include "kit.hpp"

// A number and its slope along one direction. Yours: delete it, and include your library.
struct Dual {
  double value, slope;
  Dual(double value, double slope = 0) : value(value), slope(slope) {}
};

// One way into the library; write a class for each, and give all of them to `serve`.
struct Toy : kit::Way<Dual> {
  Toy() {
    name = "";         // what follows "mylib:" in the target's name; "" where there is one way only
    modes = {"fwd"};   // of rev, fwd; several mean every sequence of them
    orders = {0, 1};   // 0 is the outputs alone
    using Args = const std::vector<Dual>&;
    // Yours: op of a program -> function of its operands. Ops that are not here are unsupported; docs/targets.md says what each op is given.
    ops["add"] = [](Args a) { return Dual(a[0].value + a[1].value, a[0].slope + a[1].slope); };
    ops["subtract"] = [](Args a) { return Dual(a[0].value - a[1].value, a[0].slope - a[1].slope); };
    ops["multiply"] = [](Args a) { return Dual(a[0].value * a[1].value, a[0].slope * a[1].value + a[0].value * a[1].slope); };
    ops["negative"] = [](Args a) { return Dual(-a[0].value, -a[0].slope); };
    ops["sin"] = [](Args a) { return Dual(std::sin(a[0].value), std::cos(a[0].value) * a[0].slope); };
    ops["cos"] = [](Args a) { return Dual(std::cos(a[0].value), -std::sin(a[0].value) * a[0].slope); };
    ops["less"] = [](Args a) { return a[0].value < a[1].value; };
    ops["less_equal"] = [](Args a) { return a[0].value <= a[1].value; };
  }

  // Yours: the outputs of `f`, and a derivative of F = sum of weight * output for each of `xs`. An output without a weight takes no part.
  // Here there is one mode at most, and the toy has it by a run for each input.
  Answer differentiate(const Function& f, const std::vector<double>& xs, const std::vector<std::optional<double>>& weights,
                       const std::vector<double>& directions, const std::vector<std::string>& modes) override {
    Answer answer;
    std::vector<Dual> duals(xs.begin(), xs.end());
    for (auto& y : f(duals)) answer.outputs.push_back(kit::plain_of<Dual>(y, [](const Dual& d) { return d.value; }));
    for (std::size_t k = 0; k < xs.size() && !modes.empty(); ++k) {
      duals[k].slope = 1;
      const auto outputs = f(duals);
      double slope = 0;
      for (std::size_t j = 0; j < outputs.size(); ++j)
        if (weights[j]) slope += *weights[j] * std::get<0>(outputs[j]).slope;
      answer.gradient.push_back(slope);
      duals[k].slope = 0;
    }
    return answer;
  }
};

int main() { return kit::serve("toy", "1.0", {std::make_shared<Toy>()}); }  // yours: the library's name and its version
