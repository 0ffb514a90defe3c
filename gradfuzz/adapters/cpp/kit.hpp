// The protocol for adapters in C++ for libraries of scalars: copy this file beside yours. C++17 and nlohmann/json (Debian: nlohmann-json3-dev).
//
// An adapter describes each way into its library by a class, and serves them:
//
//     struct Forward : kit::Way<Dual> {
//       Forward() { ops["add"] = [](auto& a) { return a[0] + a[1]; }; ... }      // op of a program -> function of real operands
//       Answer differentiate(const Function& f, const std::vector<double>& xs, ...) override { ... }
//     };
//
//     int main() { return kit::serve("mylib", "1.0", {std::make_shared<Forward>()}); }
//
// Programs are walked here on numbers of the library's type: loops and branches are C++'s, ints are long long, and ops on ints and bools are computed here.
// Arrays are unsupported. An exception is the library's answer; throw `kit::Unsupported` for what it cannot do. What a library prints goes to stderr.

#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kit {

using Json = nlohmann::json;

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Numbers of messages -------------------------------------------------------------------------------------------------

inline double number(const Json& v) {
  if (!v.is_string()) return v.get<double>();
  const std::string text = v;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "-0.0") return -0.0;
  if (text != "Infinity" && text != "-Infinity") throw BadRequest(text + " is no number");
  return text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

inline Json written(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  if (v == 0 && std::signbit(v)) return "-0.0";
  return v;
}

// A tensor of a message that has one number for each of `count` points.
inline Json column(const Json& tensor, std::size_t count) {
  const Json& data = tensor.at("data");
  if (data.size() != count || tensor.at("shape") != Json::array({count})) throw BadRequest("entries that do not fill the shape");
  return data;
}

inline double scalar(const Json& tensor) { return number(tensor.at("data").at(0)); }

// Programs --------------------------------------------------------------------------------------------------------------

template <class Real>
using Value = std::variant<Real, long long, bool>;

template <class Real>
using Power = std::function<Value<Real>(const Real&, double)>;

template <class Real>
using Ops = std::map<std::string, std::function<Value<Real>(const std::vector<Real>&)>>;

// The ops that C++ has an operator or a function for, as the library overloads them for its numbers.
template <class Real>
Ops<Real> overloaded() {
  using Args = const std::vector<Real>&;
  using V = Value<Real>;
  auto real = [](Real x) { return V(std::in_place_index<0>, std::move(x)); };
  auto truth = [](bool x) { return V(std::in_place_index<2>, x); };
  Ops<Real> ops;
  ops["add"] = [=](Args a) { return real(a[0] + a[1]); };
  ops["subtract"] = [=](Args a) { return real(a[0] - a[1]); };
  ops["multiply"] = [=](Args a) { return real(a[0] * a[1]); };
  ops["divide"] = [=](Args a) { return real(a[0] / a[1]); };
  ops["negative"] = [=](Args a) { return real(-a[0]); };
  ops["pow"] = [=](Args a) { return real(pow(a[0], a[1])); };
  ops["sin"] = [=](Args a) { return real(sin(a[0])); };
  ops["cos"] = [=](Args a) { return real(cos(a[0])); };
  ops["tan"] = [=](Args a) { return real(tan(a[0])); };
  ops["tanh"] = [=](Args a) { return real(tanh(a[0])); };
  ops["exp"] = [=](Args a) { return real(exp(a[0])); };
  ops["log"] = [=](Args a) { return real(log(a[0])); };
  ops["sqrt"] = [=](Args a) { return real(sqrt(a[0])); };
  ops["abs"] = [=](Args a) { return real(fabs(a[0])); };
  ops["less"] = [=](Args a) { return truth(a[0] < a[1]); };
  ops["less_equal"] = [=](Args a) { return truth(a[0] <= a[1]); };
  ops["greater"] = [=](Args a) { return truth(a[0] > a[1]); };
  ops["greater_equal"] = [=](Args a) { return truth(a[0] >= a[1]); };
  ops["equal"] = [=](Args a) { return truth(a[0] == a[1]); };
  ops["not_equal"] = [=](Args a) { return truth(a[0] != a[1]); };
  return ops;
}

inline long long remainder_of(long long a, long long b) {
  if (b == 0) throw std::domain_error("remainder by zero");
  return ((a % b) + b) % b;  // of the divisor's sign
}

// A program that was defined, as a function of its inputs. Making one looks at every op; running it calls closures.
template <class Real>
class Program {
 public:
  using V = Value<Real>;
  using Env = std::vector<std::optional<V>>;

  Program(const Json& form, const Ops<Real>& ops, const Power<Real>& power, long long limit) : ops_(ops), power_(power), limit_(limit) {
    for (auto& [name, type] : form.at("variables").items()) {
      const std::string text = type;
      if (text.find('[') != std::string::npos) throw Unsupported("there are no arrays here");
      if (text == "complex") throw Unsupported("there are no complex numbers here");
      places_.emplace(name, places_.size());
    }
    for (auto& param : form.at("params")) params.emplace_back(param.at(0), param.at(1));
    Json body = form.at("body");
    for (auto& e : body.back().at("return")) outputs_.push_back(expression(e));
    body.erase(body.size() - 1);
    body_ = block(body);
  }

  std::vector<std::pair<std::string, std::string>> params;

  std::vector<V> operator()(const std::map<std::string, V>& inputs) const {
    Env env(places_.size());
    for (auto& [name, value] : inputs) env[places_.at(name)].emplace(value);
    body_(env);
    std::vector<V> found;
    for (auto& read : outputs_) found.push_back(read(env));
    return found;
  }

 private:
  enum Ended { ON, BREAK, CONTINUE };
  using Read = std::function<V(Env&)>;
  using Run = std::function<Ended(Env&)>;

  static bool holds(const V& v) { return std::get<bool>(v); }

  Read expression(const Json& e) {
    if (e.is_string()) {
      const std::size_t at = places_.at(e);
      return [at](Env& env) { return *env[at]; };
    }
    if (e.contains("op")) return call(e);
    if (e.contains("array")) throw Unsupported("there are no arrays here");
    if (e.contains("float")) {
      const double v = number(e["float"]);
      return [v](Env&) { return V(std::in_place_index<0>, v); };
    }
    if (e.contains("int")) {
      const long long v = e["int"];
      return [v](Env&) { return V(std::in_place_index<1>, v); };
    }
    if (!e.contains("bool")) throw Unsupported("there are no such numbers here");
    const bool v = e["bool"];
    return [v](Env&) { return V(std::in_place_index<2>, v); };
  }

  Read call(const Json& e) {
    const std::string op = e["op"], type = e["type"];
    if (type.find('[') != std::string::npos) throw Unsupported("there are no arrays here");
    std::vector<Read> reads;
    for (auto& arg : e["args"]) reads.push_back(expression(arg));
    if (op == "astype") return cast(e["params"]["dtype"], reads[0]);
    if (op == "where") {
      return [reads](Env& env) { return holds(reads[0](env)) ? reads[1](env) : reads[2](env); };
    }
    if (op == "integer_pow" && power_) {
      const double n = e["params"]["n"];
      return [read = reads[0], power = power_, n](Env& env) { return power(std::get<0>(read(env)), n); };
    }
    const auto found = ops_.find(op);
    std::function<V(const std::vector<Real>&)> own;
    if (found != ops_.end()) own = found->second;
    if (!own && plain().count(op) == 0) throw Unsupported("there is no op " + op + " here");
    return [reads, own, op](Env& env) {
      std::vector<V> given;
      for (auto& read : reads) given.push_back(read(env));
      if (given[0].index() != 0) return on_scalars(op, given);
      if (!own) throw Unsupported("there is no op " + op + " of floats here");
      std::vector<Real> reals;
      for (auto& v : given) reals.push_back(std::get<0>(v));
      return own(reals);
    };
  }

  Read cast(const std::string& wanted, Read read) {
    return [wanted, read](Env& env) {
      const V v = read(env);
      if (v.index() == 0) {
        if (wanted != "float") throw Unsupported("there is no conversion from float to " + wanted);
        return v;
      }
      const long long n = v.index() == 1 ? std::get<1>(v) : std::get<2>(v);
      if (wanted == "float") return V(std::in_place_index<0>, static_cast<double>(n));
      return wanted == "bool" ? V(std::in_place_index<2>, n != 0) : V(std::in_place_index<1>, n);
    };
  }

  static const std::map<std::string, int>& plain() {
    static const std::map<std::string, int> ops = {{"add", 2},         {"subtract", 2},   {"multiply", 2}, {"negative", 1},  {"remainder", 2},
                                                   {"abs", 1},         {"sign", 1},       {"maximum", 2},  {"minimum", 2},   {"less", 2},
                                                   {"less_equal", 2},  {"greater", 2},    {"equal", 2},    {"not_equal", 2}, {"greater_equal", 2},
                                                   {"logical_and", 2}, {"logical_or", 2}, {"logical_not", 1}};
    return ops;
  }

  static V on_scalars(const std::string& op, const std::vector<V>& given) {
    auto n = [&](std::size_t k) { return given[k].index() == 1 ? std::get<1>(given[k]) : static_cast<long long>(std::get<2>(given[k])); };
    auto integer = [](long long v) { return V(std::in_place_index<1>, v); };
    auto truth = [](bool v) { return V(std::in_place_index<2>, v); };
    if (op == "add") return integer(n(0) + n(1));
    if (op == "subtract") return integer(n(0) - n(1));
    if (op == "multiply") return integer(n(0) * n(1));
    if (op == "negative") return integer(-n(0));
    if (op == "remainder") return integer(remainder_of(n(0), n(1)));
    if (op == "abs") return integer(n(0) < 0 ? -n(0) : n(0));
    if (op == "sign") return integer((n(0) > 0) - (n(0) < 0));
    if (op == "maximum") return integer(std::max(n(0), n(1)));
    if (op == "minimum") return integer(std::min(n(0), n(1)));
    if (op == "less") return truth(n(0) < n(1));
    if (op == "less_equal") return truth(n(0) <= n(1));
    if (op == "greater") return truth(n(0) > n(1));
    if (op == "greater_equal") return truth(n(0) >= n(1));
    if (op == "equal") return truth(n(0) == n(1));
    if (op == "not_equal") return truth(n(0) != n(1));
    if (op == "logical_and") return truth(n(0) && n(1));
    if (op == "logical_or") return truth(n(0) || n(1));
    if (op == "logical_not") return truth(!n(0));
    throw Unsupported("there is no op " + op + " of ints here");
  }

  Run block(const Json& statements) {
    std::vector<Run> run;
    for (auto& s : statements) run.push_back(statement(s));
    return [run](Env& env) {
      for (auto& one : run) {
        const Ended ended = one(env);
        if (ended != ON) return ended;
      }
      return ON;
    };
  }

  Run statement(const Json& s) {
    if (s.is_string()) {
      const Ended ended = s == "break" ? BREAK : CONTINUE;
      return [ended](Env&) { return ended; };
    }
    if (s.contains("assign")) {
      const std::size_t at = places_.at(s["assign"]);
      const Read read = expression(s["value"]);
      return [at, read](Env& env) {
        V v = read(env);
        env[at].emplace(std::move(v));
        return ON;
      };
    }
    if (s.contains("if")) {
      const Read test = expression(s["if"]);
      const Run yes = block(s["then"]), no = block(s["else"]);
      return [test, yes, no](Env& env) { return holds(test(env)) ? yes(env) : no(env); };
    }
    const bool repeat = s.contains("repeat");
    const Run body = block(repeat ? s["repeat"] : s.at("body"));
    if (s.contains("for")) {
      const Read count = expression(s["count"]);
      const std::size_t at = places_.at(s["for"]);
      return [count, at, body, limit = limit_](Env& env) {
        const long long end = std::get<1>(count(env));
        for (long long trip = 0; trip < end; ++trip) {
          too_long(trip, limit);
          env[at].emplace(std::in_place_index<1>, trip);
          if (body(env) == BREAK) break;
        }
        return ON;
      };
    }
    const Read test = expression(s.at("while"));
    return [test, repeat, body, limit = limit_](Env& env) {
      for (long long trip = 0; (repeat && trip == 0) || holds(test(env)); ++trip) {
        too_long(trip, limit);
        if (body(env) == BREAK) break;
      }
      return ON;
    };
  }

  static void too_long(long long trip, long long limit) {
    if (trip == limit) throw std::runtime_error("a loop is still running after " + std::to_string(trip) + " trips");
  }

  std::map<std::string, std::size_t> places_;
  Ops<Real> ops_;
  Power<Real> power_;
  long long limit_;
  Run body_;
  std::vector<Read> outputs_;
};

// Ways ------------------------------------------------------------------------------------------------------------------

class AnyWay {
 public:
  std::string name;
  std::vector<std::string> modes = {"rev"};
  std::vector<int> orders = {0, 1};

  virtual ~AnyWay() = default;
  virtual std::vector<std::string> names_of_ops() const = 0;
  virtual void define(const std::string& program, const Json& form, long long limit) = 0;
  virtual void forget(const std::string& program) = 0;
  virtual Json answer(const Json& request) = 0;

  Json describe() const {
    return {{"name", name},
            {"ops", names_of_ops()},
            {"dtypes", {"float64"}},
            {"modes", modes},
            {"orders", orders},
            {"loops", {"for", "while", "repeat"}},
            {"features", {"branches", "break", "continue", "nested", "runtime_trips"}}};
  }
};

// One way into a library whose numbers are `Real`, which are made of a double.
template <class Real>
class Way : public AnyWay {
 public:
  using Function = std::function<std::vector<Value<Real>>(const std::vector<Real>&)>;

  // Outputs, of which a float is a double, and one derivative for each input.
  struct Answer {
    std::vector<Value<double>> outputs;
    std::vector<double> gradient;
  };

  Ops<Real> ops;
  Power<Real> power;  // integer_pow, where it is there

  // The outputs of `f`, and one derivative of F = sum of weight * output for each of `xs`. No weight: an output that takes no part. `modes` are the
  // derivatives from the innermost to the outermost; every one but the last is taken along `directions`. With no modes, the outputs are all that is asked for.
  virtual Answer differentiate(const Function& f, const std::vector<double>& xs, const std::vector<std::optional<double>>& weights,
                               const std::vector<double>& directions, const std::vector<std::string>& modes) = 0;

  std::vector<std::string> names_of_ops() const override {
    std::vector<std::string> names = {"astype", "where", "remainder", "logical_and", "logical_or", "logical_not"};
    for (auto& [name, function] : ops) names.push_back(name);
    if (power) names.push_back("integer_pow");
    return names;
  }

  void define(const std::string& program, const Json& form, long long limit) override { programs_.insert_or_assign(program, Program<Real>(form, ops, power, limit)); }

  void forget(const std::string& program) override { programs_.erase(program); }

  Json answer(const Json& request) override {
    const auto found = programs_.find(request.at("program"));
    if (found == programs_.end()) throw BadRequest("the program " + request.at("program").get<std::string>() + " was never defined");
    const Program<Real>& program = found->second;
    const std::size_t count = request.at("count");
    std::map<std::string, Json> inputs;
    for (auto& [name, type] : program.params) inputs[name] = column(request.at("inputs").at(name), count);
    Json results = Json::array();
    for (std::size_t k = 0; k < count; ++k) results.push_back(point(program, request, inputs, k));
    return {{"results", results}};
  }

 private:
  Json point(const Program<Real>& program, const Json& request, const std::map<std::string, Json>& inputs, std::size_t k);

  std::map<std::string, Program<Real>> programs_;
};

template <class Real>
Value<double> plain_of(const Value<Real>& v, double (*value)(const Real&)) {
  if (v.index() == 1) return Value<double>(std::in_place_index<1>, std::get<1>(v));
  if (v.index() == 2) return Value<double>(std::in_place_index<2>, std::get<2>(v));
  return Value<double>(std::in_place_index<0>, value(std::get<0>(v)));
}

inline Json tensor(const Value<double>& v) {
  Json entry;
  if (v.index() == 0) entry = written(std::get<0>(v));
  if (v.index() == 1) entry = std::get<1>(v);
  if (v.index() == 2) entry = std::get<2>(v);
  static const char* const dtypes[] = {"float64", "int64", "bool"};
  return {{"dtype", dtypes[v.index()]}, {"shape", Json::array()}, {"data", {entry}}};
}

// What was thrown, as an arm of a reply.
inline Json arm_of(const std::exception& error) {
  const std::string message = error.what();
  if (dynamic_cast<const Unsupported*>(&error)) return {{"unsupported", message}};
  if (dynamic_cast<const BadRequest*>(&error) || dynamic_cast<const Json::exception*>(&error) || dynamic_cast<const std::out_of_range*>(&error))
    return {{"error", {{"kind", "bad_request"}, {"message", message}}}};
  if (dynamic_cast<const std::bad_alloc*>(&error)) return {{"error", {{"kind", "out_of_memory"}, {"message", message}}}};
  return {{"error", {{"kind", "exception"}, {"message", message}}}};
}

template <class Real>
Json Way<Real>::point(const Program<Real>& program, const Json& request, const std::map<std::string, Json>& inputs, std::size_t k) {
  try {
    const std::vector<std::string> wrt = request.at("wrt"), modes = request.at("modes");
    std::vector<double> xs, directions;
    for (auto& name : wrt) xs.push_back(number(inputs.at(name).at(k)));
    if (modes.size() > 1)
      for (auto& name : wrt) directions.push_back(scalar(request.at("directions").at(name)));
    std::vector<std::optional<double>> weights;
    for (auto& w : request.at("weights")) weights.push_back(w.is_null() ? std::nullopt : std::optional<double>(scalar(w)));
    const Function f = [&](const std::vector<Real>& reals) {
      std::map<std::string, Value<Real>> here;
      for (auto& [name, type] : program.params) {
        const auto at = std::find(wrt.begin(), wrt.end(), name);
        const Json& entry = inputs.at(name).at(k);
        if (at != wrt.end())
          here.emplace(name, Value<Real>(std::in_place_index<0>, reals[at - wrt.begin()]));
        else if (type == "float")
          here.emplace(name, Value<Real>(std::in_place_index<0>, number(entry)));
        else if (type == "int")
          here.emplace(name, Value<Real>(std::in_place_index<1>, entry.get<long long>()));
        else
          here.emplace(name, Value<Real>(std::in_place_index<2>, entry.get<bool>()));
      }
      return program(here);
    };
    const Answer answer = differentiate(f, xs, weights, directions, modes);
    Json values = Json::array(), gradient = Json::object();
    for (auto& v : answer.outputs) values.push_back(tensor(v));
    if (!modes.empty())
      for (std::size_t j = 0; j < wrt.size(); ++j) gradient[wrt[j]] = tensor(Value<double>(std::in_place_index<0>, answer.gradient.at(j)));
    return {{"ok", {{"values", values}, {"gradient", gradient}}}};
  } catch (const BadRequest&) {
    throw;
  } catch (const std::exception& error) {
    return arm_of(error);
  }
}

// Conversation ----------------------------------------------------------------------------------------------------------

// The reply's `ok` to a request.
inline Json asked(const Json& request, const Json& about, const std::vector<std::shared_ptr<AnyWay>>& ways) {
  const std::string kind = request.at("do");
  if (kind == "hello") {
    Json hello = about;
    for (auto& way : ways) hello["ways"].push_back(way->describe());
    return hello;
  }
  if (kind == "define") {
    for (auto& way : ways)
      for (auto& name : request.at("forget")) way->forget(name);
    for (auto& way : ways) way->define(request.at("program"), request.at("form"), request.at("trip_limit"));
    return Json::object();
  }
  if (kind == "eval") {
    for (auto& way : ways)
      if (way->name == request.at("way")) {
        if (request.at("dtype") != "float64") throw Unsupported("there is float64 only");
        return way->answer(request);
      }
    throw BadRequest("there is no such way here");
  }
  if (kind == "bye") return Json::object();
  throw Unsupported("there is no " + kind + " here");
}

// Answers requests until bye, or until nobody is there any more.
inline int serve(const std::string& name, const std::string& version, const std::vector<std::shared_ptr<AnyWay>>& ways) {
  FILE* out = fdopen(dup(1), "w");
  dup2(2, 1);  // what a library prints must not be taken for a reply
  const Json about = {{"protocol", 1}, {"name", name}, {"version", version}, {"language", "C++"}, {"ways", Json::array()}, {"features", Json::array()}};
  for (std::string line; std::getline(std::cin, line);) {
    Json reply = {{"id", 0}};
    bool goes_on = true;
    try {
      const Json request = Json::parse(line);
      reply["id"] = request.at("id");
      reply["ok"] = asked(request, about, ways);
      goes_on = request.at("do") != "bye";
    } catch (const std::exception& error) {
      reply.update(arm_of(error));
    }
    const std::string text = reply.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
    if (!goes_on) break;
  }
  return 0;
}

}  // namespace kit
