// The protocol for adapters in JavaScript: copy this file beside yours, or leave both where gradfuzz ships them. Node 18 or newer, nothing else.
//
// An adapter describes each way into its library by a class, and serves them:
//
//     const kit = require("./kit.js");
//
//     class Eager extends kit.Way {
//       name = "eager";
//       ops = { add: ([a, b]) => mylib.add(a, b), ... };     // op of a program -> function(operands, params)
//
//       array(dtype, shape, entries) { ... }                 // row-major numbers -> a tensor of the library
//       entries(value) { ... }                               // a tensor -> [dtype, shape, row-major numbers]
//       differentiate(f, xs, weights, directions, modes) { ... }   // -> [outputs, gradients]
//     }
//
//     kit.serve("mylib", mylib.version, [new Eager()]);
//
// Programs are walked here: loops and branches are JavaScript's, ints and bools that are scalars are BigInt and boolean, and ops on them
// are computed here. What an op function gets are tensors of the dtype it works in, ints and bools as said, and static parameters by name; what it
// returns where an int or a bool scalar is due is read back by `entries`. An Error is the library's answer; throw `Unsupported` for what it cannot do,
// `NonFinite` for what it refuses to return. Entries of int tensors are BigInt in both directions.
//
// What a library prints by console.log goes to stderr. Native code that writes to file descriptor 1 by itself is not caught.

"use strict";

const fs = require("node:fs");

const VERSION = 1;
const SPECIAL = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity, "-0.0": -0 };
const ARRAYS = {
  float64: Float64Array,
  float32: Float32Array,
  complex128: Float64Array,
  complex64: Float32Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint64: BigUint64Array,
  uint32: Uint32Array,
  uint16: Uint16Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};
const SHORT = 24; // entries that are written as numbers; longer tensors are written as base64

class Unsupported extends Error {} // the library has no way to do this
class NonFinite extends Error {} // the library refuses to return a result that is not finite
class BadRequest extends Error {} // the request is no good

// One way into a library. Several modes and orders mean every sequence of them.
class Way {
  name = "";
  ops = {};
  dtypes = ["float64", "float32"];
  modes = ["rev"];
  orders = [0, 1];
  loops = ["for", "while", "repeat"];
  features = ["branches", "break", "continue", "nested", "runtime_trips"];
  hints = {}; // further fields of a way in the protocol: stride, by_shape, variant, together

  // A tensor of the library with these entries, in row-major order. Special floats are numbers here.
  array(dtype, shape, entries) {
    throw new Unsupported("array is missing");
  }

  // [dtype, shape, entries] of a tensor of the library, as it is. Complex entries are two numbers each.
  entries(value) {
    throw new Unsupported("entries is missing");
  }

  // [outputs, gradients]: the outputs of `f(...xs)`, an array, and one derivative of F = sum of <weight, output> for each of `xs`.
  //
  // A weight is null for an output that takes no part. `modes` are the derivatives from the innermost to the outermost; every one but the
  // last is taken along `directions`, one for each of `xs`. With no modes, the outputs are all that is asked for.
  differentiate(f, xs, weights, directions, modes) {
    throw new Unsupported("differentiate is missing");
  }

  // One result per point: {ok: [outputs, {name: derivative}]} of [dtype, shape, entries], or another arm of a reply (`armOf`).
  answer(program, request, inputs) {
    return Array.from({ length: request.count }, (_, k) => point(this, program, request, inputs, k));
  }

  describe() {
    const { name, dtypes, modes, orders, loops, features } = this;
    return { name, ops: Object.keys(this.ops).sort(), dtypes, modes, orders, loops, features, ...this.hints };
  }
}

// JSON ----------------------------------------------------------------------------------------------------------------

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const LONG_INT = /[[:,]\s*-?\d{16,}\s*[,\]}]/;

// JSON whose ints beyond 2^53 are BigInt; JSON.parse would round them.
function parse(text) {
  if (!LONG_INT.test(text)) return JSON.parse(text);
  const marked = text.replace(TOKENS, (token) => (/^-?\d{16,}$/.test(token) ? `"\\u0000${token}"` : token));
  return JSON.parse(marked, (key, value) => (typeof value === "string" && value[0] === "\0" ? BigInt(value.slice(1)) : value));
}

function written(reply) {
  try {
    return JSON.stringify(reply);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // a BigInt
  }
  const marked = JSON.stringify(reply, (key, value) => (typeof value === "bigint" ? `\0${value}` : value));
  return marked.replace(/"\\u0000(-?\d+)"/g, "$1");
}

// Tensors ---------------------------------------------------------------------------------------------------------------

const sizeOf = (shape) => shape.reduce((a, n) => a * n, 1);
const isInt = (dtype) => dtype.startsWith("int") || dtype.startsWith("uint");
const sameShape = (a, b) => a.length === b.length && a.every((n, k) => n === b[k]);

// [dtype, shape, entries] of a tensor in a message.
function decodeTensor(tensor) {
  if (tensor === null || typeof tensor !== "object" || !Array.isArray(tensor.shape)) throw new BadRequest("a tensor cannot be read");
  const { dtype, shape } = tensor;
  let entries;
  if (tensor.base64 !== undefined) entries = unpacked(Buffer.from(tensor.base64, "base64"), dtype);
  else if (Array.isArray(tensor.data)) entries = tensor.data.map(isInt(dtype) ? BigInt : numberOf);
  else throw new BadRequest("a tensor has exactly one of data and base64");
  if (entries.length !== sizeOf(shape) * (dtype.startsWith("complex") ? 2 : 1)) {
    throw new BadRequest(`${entries.length} entries do not fill the shape [${shape}]`);
  }
  return [dtype, shape, entries];
}

const numberOf = (v) => (typeof v === "string" ? SPECIAL[v] : typeof v === "bigint" ? Number(v) : v);

function unpacked(bytes, dtype) {
  const own = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  if (dtype === "float16" || dtype === "bfloat16") return Array.from(new Uint16Array(own), dtype === "float16" ? half : upperHalf);
  if (!ARRAYS[dtype]) throw new BadRequest(`there is no dtype ${dtype}`);
  const entries = Array.from(new ARRAYS[dtype](own));
  return dtype === "bool" ? entries.map(Boolean) : isInt(dtype) ? entries.map(BigInt) : entries;
}

const upperHalf = (bits) => new Float32Array(new Uint32Array([bits << 16]).buffer)[0];

function half(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

// A tensor for a message.
function encodeTensor(dtype, shape, entries) {
  if (entries.length > SHORT && ARRAYS[dtype]) {
    const array = ARRAYS[dtype].from(entries, dtype.endsWith("int64") ? BigInt : Number);
    return { dtype, shape, base64: Buffer.from(array.buffer).toString("base64") };
  }
  if (dtype === "bool") return { dtype, shape, data: Array.from(entries, Boolean) };
  if (isInt(dtype)) return { dtype, shape, data: Array.from(entries, (v) => (Number.isSafeInteger(Number(v)) ? Number(v) : v)) };
  return { dtype, shape, data: Array.from(entries, (v) => (Number.isFinite(v) ? (Object.is(v, -0) ? "-0.0" : v) : String(v))) };
}

// Programs --------------------------------------------------------------------------------------------------------------

const [NORMAL, BREAK, CONTINUE] = [0, 1, 2];

function remainder(a, b) {
  if (b === 0n) throw new RangeError("remainder by zero");
  return ((a % b) + b) % b; // of the divisor's sign
}

// Ops on ints and bools that are scalars.
const ON_SCALARS = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  negative: (a) => -a,
  remainder,
  abs: (a) => (a < 0n ? -a : a),
  sign: (a) => BigInt(a > 0n) - BigInt(a < 0n),
  maximum: (a, b) => (b > a ? b : a),
  minimum: (a, b) => (b < a ? b : a),
  less: (a, b) => a < b,
  less_equal: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greater_equal: (a, b) => a >= b,
  equal: (a, b) => a === b,
  not_equal: (a, b) => a !== b,
  logical_and: (a, b) => a && b,
  logical_or: (a, b) => a || b,
  logical_not: (a) => !a,
  where: (c, a, b) => (c ? a : b),
};

// ["float", [3, 2]] of "float[3, 2]".
function typeOf(text) {
  const [dtype, sizes] = text.replace("]", "").split("[");
  return [dtype, sizes ? sizes.split(",").map(Number) : []];
}

const isPlain = ([dtype, shape]) => shape.length === 0 && (dtype === "int" || dtype === "bool");

// A program that was defined, as a function of tensors. Making one looks at every op; running it executes closures.
class Program {
  constructor(form, way, dtype, tripLimit) {
    this.form = form;
    this.dtype = dtype;
    this._way = way;
    this._limit = tripLimit;
    this.params = form.params.map(([name, text]) => [name, typeOf(text)]);
    this._types = Object.fromEntries(Object.entries(form.variables).map(([name, text]) => [name, typeOf(text)]));
    this._body = this._block(form.body.slice(0, -1));
    this._outputs = form.body.at(-1).return.map((e) => this._expression(e));
  }

  // The outputs, at inputs by name: tensors, and BigInts and booleans where they are scalars.
  run(inputs) {
    const env = { ...inputs };
    this._body(env);
    return this._outputs.map((read) => read(env));
  }

  // A value of a program: a tensor, or a BigInt or boolean.
  tensor(dtype, shape, entries) {
    if (!shape.length && (dtype === "int64" || dtype === "bool")) return entries[0];
    return this._way.array(dtype, shape, entries);
  }

  // Expressions

  _typeOf(e) {
    if (typeof e === "string") return this._types[e];
    if ("op" in e) return typeOf(e.type);
    if ("array" in e) return [e.array, e.shape];
    return [Object.keys(e)[0], []];
  }

  _constant(dtype, shape, values) {
    const name = { float: this.dtype, int: "int64", bool: "bool" }[dtype];
    if (!name) throw new Unsupported(`there are no ${dtype} numbers here`);
    const value = this.tensor(name, shape, values.map({ float: numberOf, int: BigInt, bool: Boolean }[dtype]));
    return () => value;
  }

  _expression(e) {
    if (typeof e === "string") return (env) => env[e];
    if ("op" in e) return this._call(e);
    if ("array" in e) return this._constant(e.array, e.shape, e.values);
    const [[dtype, value]] = Object.entries(e);
    return this._constant(dtype, [], [value]);
  }

  _call({ op, args, params, type }) {
    const reads = args.map((a) => this._expression(a));
    const types = args.map((a) => this._typeOf(a));
    const result = typeOf(type);
    const own = ON_SCALARS[op];
    if (own && isPlain(result) && types.every(isPlain)) {
      const [a, b, c] = reads;
      return reads.length === 1 ? (env) => own(a(env)) : (env) => own(a(env), b(env), c && c(env));
    }
    if (op === "astype" && !types[0][1].length) return this._cast(types[0][0], params.dtype, reads[0]);
    const found = this._way.ops[op];
    if (!found) throw new Unsupported(`there is no op ${op} here`);
    const named = op === "astype" ? { dtype: { int: "int64", float: this.dtype }[params.dtype] || params.dtype } : params;
    const call = (env) => found(reads.map((read) => read(env)), named, types);
    return isPlain(result) ? (env) => this._plain(call(env), result[0]) : call;
  }

  // A scalar as BigInt or boolean.
  _plain(value, dtype) {
    if (typeof value === "bigint" || typeof value === "boolean") return value;
    const [entry] = this._way.entries(value)[2];
    return dtype === "bool" ? Boolean(entry) : BigInt(entry);
  }

  // A scalar as another dtype.
  _cast(own, wanted, read) {
    if (wanted === own) return read;
    if (own !== "float" && wanted === "float") return (env) => this._way.array(this.dtype, [], [Number(read(env))]);
    if (own !== "float" && wanted === "bool") return (env) => Boolean(read(env));
    if (own !== "float" && wanted === "int") return (env) => BigInt(read(env));
    throw new Unsupported(`there is no conversion from ${own} to ${wanted} here`);
  }

  // Statements

  _block(statements) {
    const run = statements.map((s) => this._statement(s));
    return (env) => {
      for (const statement of run) {
        const ended = statement(env);
        if (ended) return ended;
      }
      return NORMAL;
    };
  }

  _statement(s) {
    if (s === "break") return () => BREAK;
    if (s === "continue") return () => CONTINUE;
    if ("assign" in s) {
      const read = this._expression(s.value);
      return (env) => {
        env[s.assign] = read(env);
      };
    }
    if ("if" in s) {
      const [holds, yes, no] = [this._expression(s.if), this._block(s.then), this._block(s.else)];
      return (env) => (holds(env) ? yes(env) : no(env));
    }
    if ("for" in s) return this._for(s.for, this._expression(s.count), this._block(s.body));
    if ("repeat" in s) return this._while(this._expression(s.while), this._block(s.repeat), false);
    if ("while" in s) return this._while(this._expression(s.while), this._block(s.body), true);
    throw new BadRequest(`a statement with ${Object.keys(s)} is none`);
  }

  _while(holds, body, first) {
    return (env) => {
      for (let trips = 0, test = first; !test || holds(env); test = true) {
        trips = this._trip(trips);
        if (body(env) === BREAK) break;
      }
    };
  }

  _for(name, count, body) {
    return (env) => {
      const end = count(env);
      for (let trip = 0n; trip < end; trip++) {
        this._trip(Number(trip));
        env[name] = trip;
        if (body(env) === BREAK) break;
      }
    };
  }

  _trip(trips) {
    if (trips === this._limit) throw new Error(`a loop is still running after ${trips} trips`);
    return trips + 1;
  }
}

// Conversation ----------------------------------------------------------------------------------------------------------

// Lines of stdin, one by one.
function* lines() {
  const chunk = Buffer.alloc(1 << 16);
  let parts = [];
  for (;;) {
    let count;
    try {
      count = fs.readSync(0, chunk, 0, chunk.length, null);
    } catch (error) {
      if (error.code === "EAGAIN") {
        pause();
        continue;
      }
      if (error.code !== "EOF") throw error;
      count = 0;
    }
    if (!count) return;
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0 && end < count; end = chunk.indexOf(10, start)) {
      parts.push(Buffer.from(chunk.subarray(start, end)));
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      start = end + 1;
    }
    if (start < count) parts.push(Buffer.from(chunk.subarray(start, count)));
  }
}

function write(text) {
  const bytes = Buffer.from(text, "utf8");
  for (let done = 0; done < bytes.length; ) {
    try {
      done += fs.writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      pause();
    }
  }
}

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);

// Answers requests until bye, or until nobody is there any more. What is printed meanwhile goes to stderr.
function serve(name, version, ways, language = `Node ${process.versions.node}`) {
  process.stdout.write = (...args) => process.stderr.write(...args);
  const server = new Server({ name, version, language }, ways);
  for (const line of lines()) {
    const [reply, goesOn] = server.reply(line);
    write(`${written(reply)}\n`);
    if (!goesOn) break;
  }
}

class Server {
  constructor(about, ways) {
    this._about = about;
    this._ways = new Map(ways.map((way) => [way.name, way]));
    this._forms = new Map();
    this._programs = new Map();
    this._answers = { hello: () => this._hello(), define: (r) => this._define(r), eval: (r) => this._eval(r), bye: () => ({}) };
  }

  // The reply to a line, and whether the conversation goes on.
  reply(line) {
    let id = 0;
    try {
      let request;
      try {
        request = parse(line);
      } catch (error) {
        throw new BadRequest(`no request: ${error.message}`);
      }
      if (!request || !Number.isInteger(request.id)) throw new BadRequest("no request: it has no id");
      id = request.id;
      if (!Object.hasOwn(this._answers, request.do)) throw new Unsupported(`there is no ${request.do} here`);
      return [{ id, ok: this._answers[request.do](request) }, request.do !== "bye"];
    } catch (error) {
      const arm = error instanceof TypeError ? { error: { kind: "bad_request", message: String(error) } } : armOf(error);
      return [{ id, ...arm }, true];
    }
  }

  _hello() {
    return { ...this._about, protocol: VERSION, ways: [...this._ways.values()].map((way) => way.describe()), features: ["base64"] };
  }

  _define(request) {
    for (const name of request.forget) {
      this._forms.delete(name);
      this._programs.delete(name);
    }
    this._forms.set(request.program, [request.form, request.trip_limit]);
    let refusal = null;
    for (const way of this._ways.values()) {
      // so that what is wrong with it is said now
      try {
        this._program(request.program, way, way.dtypes[0]);
        return {};
      } catch (error) {
        if (!(error instanceof Unsupported)) throw error;
        refusal = error;
      }
    }
    throw refusal;
  }

  _program(name, way, dtype) {
    if (!this._forms.has(name)) throw new BadRequest(`the program ${name} was never defined`);
    if (!this._programs.has(name)) this._programs.set(name, new Map());
    const made = this._programs.get(name);
    const key = `${way.name} ${dtype}`;
    if (!made.has(key)) made.set(key, new Program(this._forms.get(name)[0], way, dtype, this._forms.get(name)[1]));
    return made.get(key);
  }

  _eval(request) {
    const way = this._ways.get(request.way);
    if (!way) throw new BadRequest(`there is no way ${request.way} here`);
    if (!way.dtypes.includes(request.dtype)) throw new Unsupported(`${request.dtype} is no dtype of this way`);
    const program = this._program(request.program, way, request.dtype);
    const inputs = Object.fromEntries(Object.entries(request.inputs).map(([name, tensor]) => [name, decodeTensor(tensor)]));
    for (const [name, [, shape]] of program.params) {
      if (!inputs[name] || !sameShape(inputs[name][1], [request.count, ...shape])) {
        throw new BadRequest(`the input ${name} has not the shape [${[request.count, ...shape]}]`);
      }
    }
    const unknown = request.wrt.find((name) => !inputs[name]);
    if (unknown !== undefined) throw new BadRequest(`there is no input ${unknown}`);
    let results;
    try {
      results = way.answer(program, request, inputs);
    } catch (error) {
      if (error instanceof BadRequest) throw error;
      results = Array(request.count).fill(armOf(error));
    }
    return together(results) || { results: results.map(oneResult) };
  }
}

// What the library says at one point: {ok: [values, gradient]}, decoded, or another arm of a reply.
function point(way, program, request, inputs, k) {
  try {
    const here = {};
    for (const [name, [dtype, shape, entries]] of Object.entries(inputs)) {
      const size = entries.length / request.count;
      here[name] = program.tensor(dtype, shape.slice(1), entries.slice(k * size, (k + 1) * size));
    }
    const { wrt, modes } = request;
    const weights = request.weights.map((w) => (w === null ? null : way.array(...decodeTensor(w))));
    const directions = modes.length > 1 ? wrt.map((name) => way.array(...decodeTensor(request.directions[name]))) : [];
    const f = (...xs) => program.run({ ...here, ...Object.fromEntries(wrt.map((name, j) => [name, xs[j]])) });
    const [outputs, gradient] = way.differentiate(f, wrt.map((name) => here[name]), weights, directions, modes);
    const slopes = modes.length ? wrt.map((name, j) => [name, entriesOf(way, gradient[j])]) : [];
    return { ok: [outputs.map((y) => entriesOf(way, y)), Object.fromEntries(slopes)] };
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    return armOf(error); // whatever the library throws is its answer
  }
}

function entriesOf(way, value) {
  if (typeof value === "boolean") return ["bool", [], [value]];
  if (typeof value === "bigint") return ["int64", [], [value]];
  const [dtype, shape, entries] = way.entries(value);
  if (entries.length !== sizeOf(shape) * (dtype.startsWith("complex") ? 2 : 1)) {
    throw new Error(`the library's tensor has the shape [${shape}] and holds ${entries.length} numbers`);
  }
  return [dtype, shape, entries];
}

// What the library threw, as an arm of a reply.
function armOf(error) {
  const [first] = String((error && error.message) || error).trim().split("\n");
  const message = first.slice(0, 300);
  if (error instanceof Unsupported) return { unsupported: message };
  if (error instanceof NonFinite) return { error: { kind: "non_finite", message } };
  if (error instanceof BadRequest) return { error: { kind: "bad_request", message } };
  const full = error instanceof RangeError && /allocation failed|array length/i.test(message);
  return { error: { kind: full ? "out_of_memory" : "exception", message: `${(error && error.name) || typeof error}: ${message}` } };
}

function oneResult(result) {
  if (!result.ok) return result;
  const [values, gradient] = result.ok;
  const slopes = Object.entries(gradient).map(([name, g]) => [name, encodeTensor(...g)]);
  return { ok: { values: values.map((v) => encodeTensor(...v)), gradient: Object.fromEntries(slopes) } };
}

// All results as tensors with a leading axis, where every one went well and they are alike; null where not.
function together(results) {
  if (results.length < 2 || !results.every((r) => r.ok)) return null;
  const kinds = ([values, gradient]) => JSON.stringify([values, Object.values(gradient)].map((ts) => ts.map(([d, s]) => [d, s])));
  const first = kinds(results[0].ok);
  if (!results.every((r) => kinds(r.ok) === first)) return null;
  const joined = (parts) => encodeTensor(parts[0][0], [parts.length, ...parts[0][1]], parts.flatMap((part) => Array.from(part[2])));
  const values = results[0].ok[0].map((_, k) => joined(results.map((r) => r.ok[0][k])));
  const slopes = Object.keys(results[0].ok[1]).map((name) => [name, joined(results.map((r) => r.ok[1][name]))]);
  return { stacked: { values, gradient: Object.fromEntries(slopes) } };
}

module.exports = { BadRequest, NonFinite, Program, Unsupported, Way, armOf, decodeTensor, encodeTensor, serve };
