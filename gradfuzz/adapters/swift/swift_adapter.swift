// Swift's _Differentiation: scalar programs with loops, by reverse mode. One file: the protocol, and the
// writer of programs. `gradfuzz targets install swift` brings a toolchain; with one that is there:
//
//     swiftc -O swift_adapter.swift -o swift_adapter && gradfuzz sweep cmd:./swift_adapter --family loops
//
// A program becomes Swift functions with the same loops, in one of the forms that people write: each form is
// a way. Up to 32 programs share a file, which swiftc compiles in about the time of a few. The compiled file
// is told which of them is meant, reads a line for each point, and writes its outputs and its gradients. To
// ask another language in this way, replace what says "yours".

import Foundation
import _Differentiation  // which the programs need: a toolchain without it is not taken

typealias Json = [String: Any]

struct Unsupported: Error { let message: String }
struct BadRequest: Error { let message: String }
struct Failed: Error { let message: String }

// Programs as source ----------------------------------------------------------------------------------------

/// Yours: ops of floats as Swift writes them; $0 and $1 are the operands.
let ops: [String: String] = [
  "add": "($0 + $1)", "subtract": "($0 - $1)", "multiply": "($0 * $1)", "divide": "($0 / $1)",
  "negative": "(-$0)",
  "sin": "sin($0)", "cos": "cos($0)", "tan": "tan($0)", "tanh": "tanh($0)", "sqrt": "sqrt($0)",
  "exp": "exp($0)", "log": "log($0)",
  "log1p": "log1p($0)", "expm1": "expm1($0)", "pow": "pow($0, $1)",
  "abs": "absolute($0)", "maximum": "larger($0, $1)", "minimum": "smaller($0, $1)",
  "less": "($0 < $1)", "less_equal": "($0 <= $1)", "greater": "($0 > $1)", "greater_equal": "($0 >= $1)",
  "equal": "($0 == $1)", "not_equal": "($0 != $1)", "logical_and": "($0 && $1)", "logical_or": "($0 || $1)",
  "logical_not": "(!$0)",
]
/// Ops of ints that are written otherwise, and those that have a form of their own below.
let intOps = [
  "abs": "abs($0)", "maximum": "max($0, $1)", "minimum": "min($0, $1)", "sign": "$0.signum()",
  "remainder": "modulo($0, $1)",
]
let formed = ["where", "astype", "integer_pow", "remainder"]

/// Yours: the forms in which a program is written, and how seldom a sweep asks for them.
///
///     function   a function of numbers
///     inout      += and the like, and assignments by a function with an inout parameter
///     calls      each expression is a function of its own; the gradient is that of `pullback(at:of:)`
///     struct     the variables are properties of a Differentiable struct; `valueWithPullback(at:of:)`
///     array      the inputs are the entries of an array; its gradient is an `Array.DifferentiableView`
///     closure    a @differentiable closure, where numbers pass `withDerivative`, a derivative of one's own
let ways = [("function", 1), ("inout", 7), ("calls", 7), ("struct", 7), ("array", 7), ("closure", 7)]
let compound = ["add": "+=", "subtract": "-=", "multiply": "*=", "divide": "/="]

let head = """
  #if canImport(Glibc)
  import Glibc
  #else
  import Foundation
  #endif
  import _Differentiation

  func modulo(_ a: Int, _ b: Int) -> Int { return (a % b + b) % b }

  extension Differentiable {
    @differentiable(reverse, wrt: self)
    func withDerivative(_ change: @escaping (inout TangentVector) -> Void) -> Self { return self }

    @derivative(of: withDerivative, wrt: self)
    func _vjpWithDerivative(
      _ change: @escaping (inout TangentVector) -> Void
    ) -> (value: Self, pullback: (TangentVector) -> TangentVector) {
      return (self, { slope in var slope = slope; change(&slope); return slope })
    }
  }

  """
/// For each type of floats.
let helpers = """
  @differentiable(reverse)
  func absolute(_ x: REAL) -> REAL { return x < 0 ? -x : x }

  @differentiable(reverse)
  func larger(_ a: REAL, _ b: REAL) -> REAL { return a > b ? a : b }

  @differentiable(reverse)
  func smaller(_ a: REAL, _ b: REAL) -> REAL { return a < b ? a : b }

  @differentiable(reverse)
  func assign(_ variable: inout REAL, _ value: REAL) { variable = value }

  """
let reals = ["float64": "Double", "float32": "Float"]
/// `gradient(at:of:)` takes at most this many.
let mostAtOnce = 3

/// What is compiled: a program in a form and a precision, and what it is differentiated by.
struct Unit: Hashable {
  let program: String, way: String, dtype: String, wrt: [String]
}

/// A number of JSON, exactly: those of 17 digits come as decimals, whose `doubleValue` is an ulp off.
func exact(_ value: Any) -> Double {
  let number = value as! NSNumber
  return (number as? NSDecimalNumber).flatMap { Double($0.stringValue) } ?? number.doubleValue
}

/// Functions that a program's expressions become.
final class Functions {
  var written: [String] = []
}

struct Writer {
  let form: Json
  let way: String
  let real: String
  let variables: [String: String]
  let params: [(String, String)]
  /// The number of the program in its file.
  let number: Int
  let wrt: [String]
  /// Variables that have a `var` of their own: neither counters, nor parameters that are only read.
  var own: Set<String> = []
  /// Inputs that are entries of an array.
  var packed: [String] = []
  let functions = Functions()

  init(_ form: Json, _ unit: Unit, _ number: Int = 0) throws {
    self.form = form
    self.number = number
    (way, wrt) = (unit.way, unit.wrt)
    real = reals[unit.dtype]!
    variables = form["variables"] as! [String: String]
    params = (form["params"] as! [[String]]).map { ($0[0], $0[1]) }
    for type in variables.values where !["float", "int", "bool"].contains(type) {
      throw Unsupported(message: "there are scalars only, not \(type)")
    }
    own = Set(variables.keys).intersection(found("assign", form["body"]!))
    if way == "array" { packed = wrt.isEmpty ? params.filter { $0.1 == "float" }.map { $0.0 } : wrt }
  }

  func typeName(_ type: String) -> String { return ["float": real, "int": "Int", "bool": "Bool"][type]! }

  func number(_ value: Any) -> String {
    guard let text = value as? String else { return "\(real)(\(exact(value)))" }
    let special = ["NaN": ".nan", "Infinity": ".infinity", "-Infinity": "(-.infinity)", "-0.0": "(-0.0)"]
    return "\(real)(\(special[text]!))"
  }

  func typeOf(_ e: Any) -> String {
    if let name = e as? String { return variables[name]! }
    let e = e as! Json
    return e["type"] as? String ?? e.keys.first!
  }

  func variable(_ name: String) -> String {
    return way == "struct" && variables[name] == "float" ? "s.v_" + name : "v_" + name
  }

  func parameter(_ name: String) -> String {
    return packed.firstIndex(of: name).map { "p[\($0)]" } ?? "p_" + name
  }

  /// A float that a variable becomes.
  func floating(_ e: Any) throws -> String {
    let text = try expression(e)
    if way == "closure" { return "(\(text)).withDerivative { _ in }" }
    guard way == "calls", let op = e as? Json, op["op"] != nil else { return text }
    let names = read(e).sorted(), local = names.map { (own.contains($0) ? "v_" : "p_") + $0 }
    let given = zip(names, local).map { "_ \($1): \(typeName(variables[$0]!))" }.joined(separator: ", ")
    let floats = zip(names, local).filter { variables[$0.0] == "float" }.map { $0.1 }
    let by = floats.isEmpty ? "" : "@differentiable(reverse, wrt: (\(floats.joined(separator: ", "))))\n"
    let name = "part_\(number)_\(functions.written.count)"
    functions.written.append("\(by)func \(name)(\(given)) -> \(real) {\nreturn \(text)\n}\n")
    return "\(name)(\(local.joined(separator: ", ")))"
  }

  /// The variables that an expression reads.
  func read(_ e: Any) -> Set<String> {
    if let name = e as? String { return [name] }
    return Set(((e as! Json)["args"] as? [Any] ?? []).flatMap(read))
  }

  func assignment(_ target: String, _ value: Any) throws -> String {
    let variable = variable(target)
    guard variables[target] == "float" else {
      let text = try expression(value)
      return text == variable ? "" : "\(variable) = \(text)"  // Swift refuses `a = a`
    }
    if try expression(value) == variable { return "" }
    guard way == "inout" else { return "\(variable) = \(try floating(value))" }
    if let e = value as? Json, let op = compound[e["op"] as? String ?? ""] {
      let args = e["args"] as! [Any]
      if args[0] as? String == target { return "\(variable) \(op) \(try expression(args[1]))" }
    }
    return "assign(&\(variable), \(try expression(value)))"
  }

  func expression(_ e: Any) throws -> String {
    if let name = e as? String { return own.contains(name) ? variable(name) : parameter(name) }
    let e = e as! Json
    guard let op = e["op"] as? String else {
      guard let (type, value) = e.first, e.count == 1 else {
        throw Unsupported(message: "there are no arrays here")
      }
      if type == "float" { return number(value) }
      let whole = value as! NSNumber
      return type == "bool" ? (whole.boolValue ? "true" : "false") : "\(whole.intValue)"
    }
    let args = e["args"] as! [Any]
    let texts = try args.map(expression)
    let params = e["params"] as! Json
    if op == "where" { return "(\(texts[0]) ? \(texts[1]) : \(texts[2]))" }
    if op == "integer_pow" { return "pow(\(texts[0]), \((params["n"] as! NSNumber).doubleValue))" }
    if op == "astype" {
      let (own, wanted) = (typeOf(args[0]), params["dtype"] as! String)
      if own == wanted { return texts[0] }
      if own == "bool" { return "\(typeName(wanted))(\(texts[0]) ? 1 : 0)" }
      return wanted == "bool" ? "(\(texts[0]) != 0)" : "\(typeName(wanted))(\(texts[0]))"
    }
    let ints = typeOf(args[0]) == "int" ? intOps[op] : nil
    guard var text = ints ?? ops[op] else { throw Unsupported(message: "there is no op \(op) here") }
    for (k, operand) in texts.enumerated() { text = text.replacingOccurrences(of: "$\(k)", with: operand) }
    return text
  }

  func block(_ statements: [Any]) throws -> String {
    return try statements.map(statement).joined(separator: "\n")
  }

  func statement(_ s: Any) throws -> String {
    if let exit = s as? String { return exit }
    let s = s as! Json
    if let target = s["assign"] as? String { return try assignment(target, s["value"]!) }
    if let condition = s["if"] {
      let (then, otherwise) = (try block(s["then"] as! [Any]), try block(s["else"] as! [Any]))
      return "if \(try expression(condition)) {\n\(then)\n} else {\n\(otherwise)\n}"
    }
    if let name = s["for"] as? String {
      let count = try expression(s["count"]!)
      return "for p_\(name) in 0..<max(\(count), 0) {\n\(try block(s["body"] as! [Any]))\n}"
    }
    let condition = try expression(s["while"]!)
    if let body = s["repeat"] { return "repeat {\n\(try block(body as! [Any]))\n} while \(condition)" }
    return "while \(condition) {\n\(try block(s["body"] as! [Any]))\n}"
  }

  /// The `var`s, with the values of parameters.
  func declarations() -> String {
    let zeros = ["float": "0.0", "int": "0", "bool": "false"]
    let start = own.sorted().map { name -> (String, String) in
      (name, params.contains { $0.0 == name } ? parameter(name) : zeros[variables[name]!]!)
    }
    let inside = start.filter { way == "struct" && variables[$0.0] == "float" }
    var lines = start.filter { name, _ in !inside.contains { $0.0 == name } }.map { name, value in
      "var v_\(name): \(typeName(variables[name]!)) = \(value)"
    }
    if !inside.isEmpty {
      let properties = inside.map { "var v_\($0.0): \(real)" }.joined(separator: "\n")
      functions.written.append("struct State_\(number): Differentiable {\n\(properties)\n}\n")
      let values = inside.map { "v_\($0.0): \($0.1)" }.joined(separator: ", ")
      lines.append("var s = State_\(number)(\(values))")
    }
    return lines.joined(separator: "\n")
  }

  /// `values`, `objective`, and what is done with the lines of stdin.
  func source() throws -> String {
    let k = number
    let body = form["body"] as! [Any]
    let results = ((body.last as! Json)["return"] as! [Any])
    let single = params.filter { !packed.contains($0.0) }
    let given =
      (packed.isEmpty ? [] : ["_ p: [\(real)]"]) + single.map { "_ p_\($0.0): \(typeName($0.1))" }
    let passed = (packed.isEmpty ? [] : ["p"]) + single.map { "p_" + $0.0 }
    let statements = declarations() + "\n" + (try block(Array(body.dropLast())))
    let outputs = try results.map(expression)
    let said = zip(results, outputs).map {
      typeOf($0) == "float" ? "\"\\(Double(\($1)))\"" : "\"\\(\($1))\""
    }
    let entries = params.enumerated().map { k, p -> String in
      "let p_\(p.0) = \(p.1 == "bool" ? "entries[\(k)] == \"true\"" : "\(typeName(p.1))(entries[\(k)])!")"
    }
    let array = packed.isEmpty ? [] : ["let p = [\(packed.map { "p_" + $0 }.joined(separator: ", "))]"]
    let values = """
      func values_\(k)(\(given.joined(separator: ", "))) -> [String] {
      \(statements)
      return [\(said.joined(separator: ", "))]
      }

      """
    let floats = zip(results, outputs).enumerated().filter { typeOf($1.0) == "float" }
    let terms = floats.map { "w\($0) * \($1.1)" }
    let total = terms.isEmpty ? "\(real)(0.0)" : terms.joined(separator: " + ")
    let weights = results.indices.map { "_ w\($0): \(real)" }
    let readWeights = results.indices.map { "let w\($0) = \(real)(entries[\(params.count + $0)])!" }
    let by = packed.isEmpty ? wrt.map { "p_" + $0 } : ["p"]
    let objective = wrt.isEmpty || way == "closure" ? "" : """
      @differentiable(reverse, wrt: (\(by.joined(separator: ", "))))
      func objective_\(k)(\((given + weights).joined(separator: ", "))) -> \(real) {
      \(statements)
      return \(total)
      }

      """
    let arguments = (passed + results.indices.map { "w\($0)" }).joined(separator: ", ")
    let slopes = stride(from: 0, to: wrt.isEmpty ? 0 : by.count, by: mostAtOnce).map { first -> String in
      let own = Array(by[first..<min(first + mostAtOnce, by.count)])
      let inside = way == "closure" ? "\n\(statements)\nreturn \(total)\n" : "objective_\(k)(\(arguments))"
      return "do {\n\(derivative(own, inside))\n}"
    }
    return functions.written.joined() + values + objective + """
      func answer_\(k)() {
      while let line = readLine() {
      let entries = line.split(separator: " ").map(String.init)
      \((entries + array + (wrt.isEmpty ? [] : readWeights)).joined(separator: "\n"))
      var said = values_\(k)(\(passed.joined(separator: ", ")))
      if CommandLine.arguments[2] == "gradient" {
      \(slopes.joined(separator: "\n"))
      }
      print(said.joined(separator: " "))
      fflush(stdout)
      }
      }

      """
  }

  /// Statements that append the slopes by some variables of what a closure computes.
  func derivative(_ own: [String], _ inside: String) -> String {
    let listed = own.joined(separator: ", ")
    let type = packed.isEmpty ? real : "[\(real)]"
    let typed = own.map { "\($0): \(type)" }.joined(separator: ", ")
    let f = "of: { (\(typed)) -> \(real) in \(inside) }"
    let parts = own.count == 1 ? ["slopes"] : own.indices.map { "slopes.\($0)" }
    let texts = "said += [\(parts.map { "\"\\(Double(\($0)))\"" }.joined(separator: ", "))]"
    switch way {
    case "array":  // the view is empty where nothing depends on the array
      return """
        let slopes = valueWithGradient(at: \(listed), \(f)).gradient.base
        said += (slopes.isEmpty ? \(own[0]).map { _ in 0 } : slopes).map { "\\(Double($0))" }
        """
    case "calls": return "let slopes = pullback(at: \(listed), \(f))(1)\n" + texts
    case "struct": return "let slopes = valueWithPullback(at: \(listed), \(f)).pullback(1)\n" + texts
    case "closure":
      let types = own.map { _ in real }.joined(separator: ", ")
      return """
        let objective: @differentiable(reverse) (\(types)) -> \(real) = \(f.dropFirst(4))
        let slopes = gradient(at: \(listed), of: objective)
        \(texts)
        """
    default: return "let slopes = gradient(at: \(listed), \(f))\n" + texts
    }
  }

  /// The names that statements have under a key.
  func found(_ key: String, _ data: Any) -> [String] {
    if let list = data as? [Any] { return list.flatMap { found(key, $0) } }
    guard let s = data as? Json else { return [] }
    return ((s[key] as? String).map { [$0] } ?? []) + s.values.flatMap { found(key, $0) }
  }
}

// Running them ----------------------------------------------------------------------------------------------

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gradfuzz-swift-\(getpid())")
let secondsToRun = 20.0, secondsToCompile = 250.0
/// So many programs share a file.
let together = 32

/// What a command writes, and its exit status; only a compiler's stderr counts.
func run(
  _ arguments: [String], input: String = "", seconds: Double, stderr: Bool = false
) throws -> (String, Int32) {
  let process = Process(), stdin = Pipe(), stdout = Pipe()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = arguments
  process.standardInput = stdin
  process.standardOutput = stdout
  if stderr { process.standardError = stdout }
  let ended = DispatchSemaphore(value: 0)
  process.terminationHandler = { _ in ended.signal() }
  try process.run()
  DispatchQueue.global().asyncAfter(deadline: .now() + seconds) {
    if process.isRunning { process.terminate() }
  }
  DispatchQueue.global().async {
    stdin.fileHandleForWriting.write(input.data(using: .utf8)!)
    stdin.fileHandleForWriting.closeFile()
  }
  let text = String(decoding: stdout.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  ended.wait()  // `waitUntilExit` looks every 50 ms only
  return (text, process.terminationStatus)
}

var forms: [String: Json] = [:]
/// Where a unit is compiled: the file, and the unit's number there; or why it is not.
var compiled: [Unit: Result<(String, Int), Failed>] = [:]
var files = 0
/// Linking takes half of the time of a small file; this linker is the fastest, where there is one.
var linker = ["-use-ld=lld"]

/// Compiles units into one file. Where that fails, halves are tried: one of them may do.
func compile(_ units: [Unit]) throws {
  files += 1
  let made = folder.appendingPathComponent("programs\(files)").path
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  let written = try units.enumerated().map { k, unit in
    try Writer(forms[unit.program]!, unit, k).source()
  }
  let helping = Set(units.map { $0.dtype }).sorted().map {
    helpers.replacingOccurrences(of: "REAL", with: reals[$0]!)
  }
  let choice = units.indices.map { "case \"\($0)\": answer_\($0)()" }.joined(separator: "\n")
  let source = ([head] + helping + written).joined(separator: "\n")
    + "switch CommandLine.arguments[1] {\n\(choice)\ndefault: break\n}\n"
  try source.write(toFile: made + ".swift", atomically: true, encoding: .utf8)
  let command = ["swiftc", "-Onone", "-suppress-warnings", made + ".swift", "-o", made]
  var (text, status) = try run(command + linker, seconds: secondsToCompile, stderr: true)
  if status != 0 && !linker.isEmpty && text.contains("lld") {
    linker = []
    (text, status) = try run(command, seconds: secondsToCompile, stderr: true)
  }
  if status == 0 {
    for (k, unit) in units.enumerated() { compiled[unit] = .success((made, k)) }
  } else if units.count > 1 {
    try compile(Array(units[..<(units.count / 2)]))
    try compile(Array(units[(units.count / 2)...]))
  } else {
    let lines = text.components(separatedBy: "\n")
    let first = lines.first { $0.contains("error: ") }?.components(separatedBy: "error: ").last
    let why = first ?? "no error is told"
    compiled[units[0]] = .failure(Failed(message: "swiftc exits with \(status): \(why)"))
  }
}

// Conversation ----------------------------------------------------------------------------------------------

func entry(_ value: Any, _ dtype: String) -> String {
  let special = ["NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"]
  if let text = value as? String { return special[text] ?? text }
  let number = value as! NSNumber
  if dtype == "bool" { return number.boolValue ? "true" : "false" }
  return dtype == "int64" ? "\(number.int64Value)" : "\(exact(value))"
}

/// What the compiled program wrote, as a tensor.
func tensor(_ text: String, _ type: String, _ real: String) -> String {
  let special = [
    "nan": "\"NaN\"", "-nan": "\"NaN\"", "inf": "\"Infinity\"", "-inf": "\"-Infinity\"", "-0.0": "\"-0.0\"",
  ]
  let dtype = ["float": real, "int": "int64", "bool": "bool"][type]!
  return "{\"dtype\": \"\(dtype)\", \"shape\": [], \"data\": [\(special[text] ?? text)]}"
}

/// What an eval needs compiled.
func unit(_ request: Json) throws -> Unit {
  let program = request["program"] as! String, dtype = request["dtype"] as! String
  let way = request["way"] as! String
  guard ways.contains(where: { $0.0 == way }) else { throw BadRequest(message: "there is no way \(way)") }
  guard reals[dtype] != nil else { throw Unsupported(message: "there is no \(dtype) here") }
  guard forms[program] != nil else { throw BadRequest(message: "the program \(program) was never defined") }
  let asked = !(request["modes"] as! [Any]).isEmpty
  return Unit(program: program, way: way, dtype: dtype, wrt: asked ? request["wrt"] as! [String] : [])
}

/// Outputs alone are had from a unit that is differentiated, too.
func serves(_ one: Unit, _ wanted: Unit) -> Bool {
  let alike = (one.program, one.way, one.dtype) == (wanted.program, wanted.way, wanted.dtype)
  return alike && (wanted.wrt.isEmpty || one.wrt == wanted.wrt)
}

/// Where the unit's program is compiled.
func place(_ unit: Unit) throws -> (String, Int) {
  for (one, found) in compiled where serves(one, unit) {
    if case .success(let place) = found { return place }
  }
  if compiled[unit] == nil {
    // who asks about a second form of a program asks about them all
    let others = ways.map { Unit(program: unit.program, way: $0.0, dtype: unit.dtype, wrt: unit.wrt) }
    let missing = others.filter { compiled[$0] == nil }
    try compile(missing.count == ways.count ? [unit] : missing)
  }
  return try compiled[unit]!.get()
}

func eval(_ request: Json) throws -> String {
  let unit = try unit(request)
  let (binary, number) = try place(unit)
  let writer = try Writer(forms[unit.program]!, unit)
  let inputs = request["inputs"] as! [String: Json]
  let count = (request["count"] as! NSNumber).intValue
  let weights = (request["weights"] as! [Any]).map { w -> String in
    guard let w = w as? Json else { return "0.0" }
    return entry((w["data"] as! [Any])[0], unit.dtype)
  }
  let lines = try (0..<count).map { k -> String in
    let row = try writer.params.map { name, _ -> String in
      guard let tensor = inputs[name], let data = tensor["data"] as? [Any], data.count == count else {
        throw BadRequest(message: "the input \(name) has another shape")
      }
      return entry(data[k], tensor["dtype"] as! String)
    }
    return (row + weights).joined(separator: " ")
  }
  let outputs = writer.form["outputs"] as! [String]
  var results: [String] = []
  while results.count < count {
    let input = lines[results.count...].joined(separator: "\n") + "\n"
    let command = [binary, "\(number)", unit.wrt.isEmpty ? "values" : "gradient"]
    let (text, status) = try run(command, input: input, seconds: secondsToRun)
    for line in text.split(separator: "\n") {
      let said = line.split(separator: " ").map(String.init)
      let values = zip(said, outputs).map { tensor($0, $1, unit.dtype) }.joined(separator: ", ")
      let slopes = zip(unit.wrt, said.dropFirst(outputs.count)).map { name, text in
        "\"\(name)\": " + tensor(text, "float", unit.dtype)
      }.joined(separator: ", ")
      results.append("{\"ok\": {\"values\": [\(values)], \"gradient\": {\(slopes)}}}")
    }
    // a point that ended the program; those after it are asked again, unless it was the clock that ended it
    let why = "the program ended with status \(status)"
    let ended = "{\"error\": {\"kind\": \"exception\", \"message\": \"\(why)\"}}"
    repeat {
      if results.count < count { results.append(ended) }
    } while status == SIGTERM && results.count < count
  }
  return "{\"results\": [\(results.joined(separator: ", "))]}"
}

/// Replies to many evals, whose programs are compiled together first.
func several(_ requests: [Json]) throws -> String {
  var missing: [Unit] = []
  for unit in requests.compactMap({ try? unit($0) }).sorted(by: { $0.wrt.count > $1.wrt.count }) {
    if !(missing + compiled.keys).contains(where: { serves($0, unit) }) { missing.append(unit) }
  }
  for first in stride(from: 0, to: missing.count, by: together) {
    try compile(Array(missing[first..<min(first + together, missing.count)]))
  }
  let replies = requests.map { request in "{\(arm { try eval(request) })}" }
  return "{\"replies\": [\(replies.joined(separator: ", "))]}"
}

/// The member of a reply that says how it went.
func arm(_ answer: () throws -> String) -> String {
  do {
    return "\"ok\": " + (try answer())
  } catch let error as Unsupported {
    return "\"unsupported\": \(quoted(error.message))"
  } catch let error as BadRequest {
    return "\"error\": {\"kind\": \"bad_request\", \"message\": \(quoted(error.message))}"
  } catch let error as Failed {
    return "\"error\": {\"kind\": \"exception\", \"message\": \(quoted(error.message))}"
  } catch {
    return "\"error\": {\"kind\": \"exception\", \"message\": \(quoted("\(error)"))}"
  }
}

func quoted(_ text: String) -> String {
  let list = try! JSONSerialization.data(withJSONObject: [text])
  return String(decoding: list.dropFirst().dropLast(), as: UTF8.self)
}

/// The release of the compiler; asked once.
func release() -> String {
  let text = (try? run(["swiftc", "--version"], seconds: secondsToRun))?.0 ?? ""
  return text.components(separatedBy: "Swift version ").last!.components(separatedBy: " ")[0]
}

func asked(_ request: Json) throws -> String {
  switch request["do"] as? String {
  case "hello":
    let names = Set(ops.keys).union(intOps.keys).union(formed).sorted().map(quoted).joined(separator: ", ")
    let listed = ways.map { name, stride in
      """
      {"name": \(quoted(name)), "ops": [\(names)], \
      "dtypes": ["float64", "float32"], "modes": ["rev"], "orders": [0, 1], \
      "loops": ["for", "while", "repeat"], \
      "features": ["branches", "break", "continue", "nested", "runtime_trips"], "stride": \(stride), \
      "bulk": true, "at_once": \(together)}
      """
    }
    return """
      {"protocol": 1, "name": "swift", "version": \(quoted(release())), "language": "Swift", \
      "features": ["several"], "ways": [\(listed.joined(separator: ", "))]}
      """
  case "define":
    let gone = Set(request["forget"] as! [String])
    for name in gone { forms[name] = nil }
    if !gone.isEmpty { compiled = compiled.filter { !gone.contains($0.key.program) } }
    let form = request["form"] as! Json
    for (way, _) in ways {
      _ = try Writer(form, Unit(program: "", way: way, dtype: "float64", wrt: [])).source()
    }
    forms[request["program"] as! String] = form
    return "{}"
  case "eval":
    return try eval(request)
  case "several":
    return try several(request["evals"] as! [Json])
  case "bye":
    return "{}"
  default:
    throw Unsupported(message: "there is no such request here")
  }
}

while let line = readLine() {
  guard let request = try? JSONSerialization.jsonObject(with: line.data(using: .utf8)!) as? Json,
    let id = request["id"] as? NSNumber
  else {
    print("{\"id\": 0, \"error\": {\"kind\": \"bad_request\", \"message\": \"no request\"}}")
    fflush(stdout)
    continue
  }
  print("{\"id\": \(id.intValue), \(arm { try asked(request) })}")
  fflush(stdout)
  if request["do"] as? String == "bye" { break }
}
try? FileManager.default.removeItem(at: folder)
