// Swift's _Differentiation: scalar programs with loops, by reverse mode. One file: the protocol, and the writer of programs.
//
// Written after Swift's documentation; no compiler has seen it. That gradfuzz asks what is read here, and understands what is written here, is tested by the
// conversation tests/data/swift_conversation.txt. `gradfuzz targets check` tells what is wrong with the rest. With a toolchain of swift.org:
//
//     swiftc -O swift_adapter.swift -o swift_adapter && gradfuzz sweep cmd:./swift_adapter --family loops
//
// A program becomes a Swift function with the same loops, which swiftc compiles: seconds for each, so that a sweep asks every 16th. The compiled program
// reads a line for each point, and writes its outputs and its gradients. To ask another language in this way, replace what says "yours".

import Foundation

typealias Json = [String: Any]

struct Unsupported: Error { let message: String }
struct BadRequest: Error { let message: String }
struct Failed: Error { let message: String }

// Programs as source --------------------------------------------------------------------------------------------------

/// Yours: ops of floats as Swift writes them; $0 and $1 are the operands.
let ops: [String: String] = [
  "add": "($0 + $1)", "subtract": "($0 - $1)", "multiply": "($0 * $1)", "divide": "($0 / $1)", "negative": "(-$0)",
  "sin": "sin($0)", "cos": "cos($0)", "tan": "tan($0)", "tanh": "tanh($0)", "exp": "exp($0)", "log": "log($0)", "sqrt": "sqrt($0)",
  "log1p": "log1p($0)", "expm1": "expm1($0)", "pow": "pow($0, $1)",
  "abs": "absolute($0)", "maximum": "larger($0, $1)", "minimum": "smaller($0, $1)",
  "less": "($0 < $1)", "less_equal": "($0 <= $1)", "greater": "($0 > $1)", "greater_equal": "($0 >= $1)", "equal": "($0 == $1)",
  "not_equal": "($0 != $1)", "logical_and": "($0 && $1)", "logical_or": "($0 || $1)", "logical_not": "(!$0)",
]
/// Ops of ints that are written otherwise, and those that have a form of their own below.
let intOps = ["abs": "abs($0)", "maximum": "max($0, $1)", "minimum": "min($0, $1)", "sign": "$0.signum()", "remainder": "modulo($0, $1)"]
let formed = ["where", "astype", "integer_pow", "remainder"]

let head = """
  import Foundation
  import _Differentiation

  @differentiable(reverse)
  func absolute(_ x: Double) -> Double { return x < 0 ? -x : x }

  @differentiable(reverse)
  func larger(_ a: Double, _ b: Double) -> Double { return a > b ? a : b }

  @differentiable(reverse)
  func smaller(_ a: Double, _ b: Double) -> Double { return a < b ? a : b }

  func modulo(_ a: Int, _ b: Int) -> Int { return (a % b + b) % b }

  """

struct Writer {
  let form: Json
  let variables: [String: String]
  let params: [(String, String)]

  init(_ form: Json) throws {
    self.form = form
    variables = form["variables"] as! [String: String]
    params = (form["params"] as! [[String]]).map { ($0[0], $0[1]) }
    for type in variables.values where !["float", "int", "bool"].contains(type) {
      throw Unsupported(message: "there are scalars only, not \(type)")
    }
  }

  func typeName(_ type: String) -> String { return ["float": "Double", "int": "Int", "bool": "Bool"][type]! }

  func number(_ value: Any) -> String {
    guard let text = value as? String else { return "Double(\((value as! NSNumber).doubleValue))" }
    return ["NaN": "Double.nan", "Infinity": "Double.infinity", "-Infinity": "(-Double.infinity)", "-0.0": "(-0.0)"][text]!
  }

  func typeOf(_ e: Any) -> String {
    if let name = e as? String { return variables[name]! }
    let e = e as! Json
    return e["type"] as? String ?? e.keys.first!
  }

  func expression(_ e: Any) throws -> String {
    if let name = e as? String { return "v_" + name }
    let e = e as! Json
    guard let op = e["op"] as? String else {
      guard let (type, value) = e.first, e.count == 1 else { throw Unsupported(message: "there are no arrays here") }
      return type == "float" ? number(value) : type == "bool" ? ((value as! NSNumber).boolValue ? "true" : "false") : "\((value as! NSNumber).intValue)"
    }
    let args = e["args"] as! [Any]
    let texts = try args.map(expression)
    let params = e["params"] as! Json
    if op == "where" { return "(\(texts[0]) ? \(texts[1]) : \(texts[2]))" }
    if op == "integer_pow" { return "pow(\(texts[0]), \((params["n"] as! NSNumber).doubleValue))" }
    if op == "astype" {
      let (own, wanted) = (typeOf(args[0]), params["dtype"] as! String)
      if own == wanted { return texts[0] }
      if own == "bool" { return "(\(texts[0]) ? \(wanted == "int" ? "1 : 0" : "1.0 : 0.0"))" }
      return wanted == "bool" ? "(\(texts[0]) != 0)" : "\(typeName(wanted))(\(texts[0]))"
    }
    let ints = typeOf(args[0]) == "int" ? intOps[op] : nil
    guard var text = ints ?? ops[op] else { throw Unsupported(message: "there is no op \(op) here") }
    for (k, operand) in texts.enumerated() { text = text.replacingOccurrences(of: "$\(k)", with: operand) }
    return text
  }

  func block(_ statements: [Any]) throws -> String { return try statements.map(statement).joined(separator: "\n") }

  func statement(_ s: Any) throws -> String {
    if let exit = s as? String { return exit }
    let s = s as! Json
    if let target = s["assign"] as? String { return "v_\(target) = \(try expression(s["value"]!))" }
    if let condition = s["if"] {
      return "if \(try expression(condition)) {\n\(try block(s["then"] as! [Any]))\n} else {\n\(try block(s["else"] as! [Any]))\n}"
    }
    if let name = s["for"] as? String {
      return "for v_\(name) in 0..<max(\(try expression(s["count"]!)), 0) {\n\(try block(s["body"] as! [Any]))\n}"
    }
    let condition = try expression(s["while"]!)
    if let body = s["repeat"] { return "repeat {\n\(try block(body as! [Any]))\n} while \(condition)" }
    return "while \(condition) {\n\(try block(s["body"] as! [Any]))\n}"
  }

  /// The whole program: `values`, `objective`, and a loop over the lines of stdin.
  func source() throws -> String {
    let body = form["body"] as! [Any]
    let results = ((body.last as! Json)["return"] as! [Any])
    let given = params.map { "_ p_\($0.0): \(typeName($0.1))" }
    let floats = params.filter { $0.1 == "float" }.map { $0.0 }
    let counters = Set(loopNames(body))
    let declared = variables.filter { !counters.contains($0.key) }.sorted { $0.key < $1.key }.map { name, type -> String in
      let initial = params.contains { $0.0 == name } ? "p_\(name)" : ["float": "0.0", "int": "0", "bool": "false"][type]!
      return "var v_\(name): \(typeName(type)) = \(initial)"
    }
    let statements = declared.joined(separator: "\n") + "\n" + (try block(Array(body.dropLast())))
    let outputs = try results.map(expression)
    let terms = zip(results, outputs).enumerated().filter { typeOf($1.0) == "float" }.map { "w\($0) * \($1.1)" }
    let weights = results.indices.map { "_ w\($0): Double" }
    let wrt = floats.isEmpty ? "" : ", wrt: (\(floats.map { "p_" + $0 }.joined(separator: ", ")))"
    let read = params.enumerated().map { k, p in "let p_\(p.0) = \(p.1 == "bool" ? "entries[\(k)] == \"true\"" : "\(typeName(p.1))(entries[\(k)])!")" }
    let readWeights = results.indices.map { "let w\($0) = Double(entries[\(params.count + $0)])!" }
    let slopes = floats.map { name -> String in
      let arguments = (params.map { $0.0 == name ? "x" : "p_" + $0.0 } + results.indices.map { "w\($0)" }).joined(separator: ", ")
      return "if asked { said.append(\"\\(gradient(at: p_\(name), of: { x in objective(\(arguments)) }))\") }"
    }
    return head + """
      func values(\(given.joined(separator: ", "))) -> [String] {
      \(statements)
      return [\(outputs.map { "\"\\(\($0))\"" }.joined(separator: ", "))]
      }

      @differentiable(reverse\(wrt))
      func objective(\((given + weights).joined(separator: ", "))) -> Double {
      \(statements)
      return \(terms.isEmpty ? "0.0" : terms.joined(separator: " + "))
      }

      let asked = CommandLine.arguments.contains("gradient")
      while let line = readLine() {
      let entries = line.split(separator: " ").map(String.init)
      \((read + readWeights).joined(separator: "\n"))
      var said = values(\(params.map { "p_" + $0.0 }.joined(separator: ", ")))
      \(slopes.joined(separator: "\n"))
      print(said.joined(separator: " "))
      }

      """
  }

  func loopNames(_ data: Any) -> [String] {
    if let list = data as? [Any] { return list.flatMap(loopNames) }
    guard let s = data as? Json else { return [] }
    return ((s["for"] as? String).map { [$0] } ?? []) + s.values.flatMap(loopNames)
  }
}

// Running them --------------------------------------------------------------------------------------------------------

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gradfuzz-swift-\(getpid())")
let seconds = 50.0

/// What a command writes to stdout, and its exit status.
func run(_ arguments: [String], input: String = "") throws -> (String, Int32) {
  let process = Process(), stdin = Pipe(), stdout = Pipe()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = arguments
  process.standardInput = stdin
  process.standardOutput = stdout
  try process.run()
  DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { if process.isRunning { process.terminate() } }
  DispatchQueue.global().async {
    stdin.fileHandleForWriting.write(input.data(using: .utf8)!)
    stdin.fileHandleForWriting.closeFile()
  }
  let text = String(decoding: stdout.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  return (text, process.terminationStatus)
}

var forms: [String: Json] = [:]

func compiled(_ program: String) throws -> String {
  guard let form = forms[program] else { throw BadRequest(message: "the program \(program) was never defined") }
  let made = folder.appendingPathComponent(program).path
  if FileManager.default.fileExists(atPath: made) { return made }
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  try Writer(form).source().write(toFile: made + ".swift", atomically: true, encoding: .utf8)
  let (_, status) = try run(["swiftc", "-O", made + ".swift", "-o", made])
  if status != 0 { throw Failed(message: "swiftc exits with \(status)") }
  return made
}

// Conversation --------------------------------------------------------------------------------------------------------

func entry(_ value: Any, _ dtype: String) -> String {
  if let text = value as? String { return ["NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"][text] ?? text }
  let number = value as! NSNumber
  return dtype == "bool" ? (number.boolValue ? "true" : "false") : dtype == "int64" ? "\(number.int64Value)" : "\(number.doubleValue)"
}

/// What the compiled program wrote, as a tensor.
func tensor(_ text: String, _ type: String) -> String {
  let special = ["nan": "\"NaN\"", "-nan": "\"NaN\"", "inf": "\"Infinity\"", "-inf": "\"-Infinity\"", "-0.0": "\"-0.0\""]
  let dtype = ["float": "float64", "int": "int64", "bool": "bool"][type]!
  return "{\"dtype\": \"\(dtype)\", \"shape\": [], \"data\": [\(special[text] ?? text)]}"
}

func eval(_ request: Json) throws -> String {
  let program = request["program"] as! String
  let binary = try compiled(program)
  let writer = try Writer(forms[program]!)
  let inputs = request["inputs"] as! [String: Json]
  let count = (request["count"] as! NSNumber).intValue
  let weights = (request["weights"] as! [Any]).map { w -> String in
    guard let w = w as? Json else { return "0.0" }
    return entry((w["data"] as! [Any])[0], "float64")
  }
  var lines = ""
  for k in 0..<count {
    let row = try writer.params.map { name, _ -> String in
      guard let tensor = inputs[name], let data = tensor["data"] as? [Any], data.count == count else { throw BadRequest(message: "the input \(name) has another shape") }
      return entry(data[k], tensor["dtype"] as! String)
    }
    lines += (row + weights).joined(separator: " ") + "\n"
  }
  let wrt = request["wrt"] as! [String]
  let asked = !(request["modes"] as! [Any]).isEmpty
  let (text, status) = try run([binary] + (asked ? ["gradient"] : []), input: lines)
  let said = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
  let outputs = writer.form["outputs"] as! [String]
  let floats = writer.params.filter { $0.1 == "float" }.map { $0.0 }
  let results = (0..<count).map { k -> String in
    guard k < said.count else { return "{\"error\": {\"kind\": \"exception\", \"message\": \"the program ended with status \(status)\"}}" }
    let values = zip(said[k], outputs).map(tensor).joined(separator: ", ")
    let slopes = asked ? wrt.map { "\"\($0)\": " + tensor(said[k][outputs.count + floats.firstIndex(of: $0)!], "float") } : []
    return "{\"ok\": {\"values\": [\(values)], \"gradient\": {\(slopes.joined(separator: ", "))}}}"
  }
  return "{\"results\": [\(results.joined(separator: ", "))]}"
}

func quoted(_ text: String) -> String {
  return String(decoding: try! JSONSerialization.data(withJSONObject: [text]).dropFirst().dropLast(), as: UTF8.self)
}

func asked(_ request: Json) throws -> String {
  switch request["do"] as? String {
  case "hello":
    let names = Set(ops.keys).union(intOps.keys).union(formed).sorted().map(quoted).joined(separator: ", ")
    return """
      {"protocol": 1, "name": "swift", "version": "unknown", "language": "Swift", "features": [], "ways": [{"name": "", "ops": [\(names)], \
      "dtypes": ["float64"], "modes": ["rev"], "orders": [0, 1], "loops": ["for", "while", "repeat"], \
      "features": ["branches", "break", "continue", "nested", "runtime_trips"], "stride": 16}]}
      """
  case "define":
    for name in request["forget"] as! [String] { forms[name] = nil }
    let form = request["form"] as! Json
    _ = try Writer(form).source()
    forms[request["program"] as! String] = form
    return "{}"
  case "eval":
    guard request["way"] as? String == "" else { throw BadRequest(message: "there is no such way here") }
    guard request["dtype"] as? String == "float64" else { throw Unsupported(message: "there is float64 only") }
    return try eval(request)
  case "bye":
    return "{}"
  default:
    throw Unsupported(message: "there is no such request here")
  }
}

while let line = readLine() {
  var id = 0
  var arm = ""
  var goesOn = true
  do {
    guard let request = try JSONSerialization.jsonObject(with: line.data(using: .utf8)!) as? Json, let number = request["id"] as? NSNumber else {
      throw BadRequest(message: "no request")
    }
    id = number.intValue
    arm = "\"ok\": " + (try asked(request))
    goesOn = request["do"] as? String != "bye"
  } catch let error as Unsupported {
    arm = "\"unsupported\": \(quoted(error.message))"
  } catch let error as BadRequest {
    arm = "\"error\": {\"kind\": \"bad_request\", \"message\": \(quoted(error.message))}"
  } catch {
    arm = "\"error\": {\"kind\": \"exception\", \"message\": \(quoted("\(error)"))}"
  }
  print("{\"id\": \(id), \(arm)}")
  fflush(stdout)
  if !goesOn { break }
}
try? FileManager.default.removeItem(at: folder)
