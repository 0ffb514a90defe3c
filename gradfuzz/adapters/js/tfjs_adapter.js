// TensorFlow.js on Node, cpu backend. Loops are JavaScript's; reverse mode by tf.grads, higher orders by nesting it.
//
// Needs Node 18 or newer and @tensorflow/tfjs (npm install @tensorflow/tfjs), found beside this file or by NODE_PATH.
//
// All floats are float32, all ints int32. An op is TensorFlow.js's own function wherever it has one with a derivative: it has none of einsum, cumprod, and
// comparisons (issue 7710), so that conditions and indices are handed on as constants. Where it says that there is no derivative of a kernel, the answer is
// *unsupported*. tf.grads refuses an input that has no part in the result; a term with 0 gives it one, so that it says 0.

"use strict";

const kit = require("./kit.js");

console.warn = () => {};
const tf = require("@tensorflow/tfjs");
tf.env().set("IS_TEST", true); // no greeting
tf.setBackend("cpu");

const DTYPES = { float32: "float32", int32: "int32", int64: "int32", bool: "bool" };
const OUTER = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };

function tensor(dtype, shape, entries) {
  const own = DTYPES[dtype];
  if (!own) throw new kit.Unsupported(`TensorFlow.js has no ${dtype}`);
  const numbers = Array.from(entries, Number);
  if (own === "int32" && numbers.some((n) => n !== (n | 0))) throw new kit.Unsupported("TensorFlow.js has 32 bits for an int");
  return tf.tensor(OUTER[own].from(numbers), shape, own);
}

// An operand that is an int or a bool of JavaScript, as a tensor.
function lifted(x) {
  if (typeof x === "bigint") return tensor("int32", [], [x]);
  return typeof x === "boolean" ? tf.scalar(x, "bool") : x;
}

// The same numbers as a constant.
const detached = (x) => (x instanceof tf.Tensor ? tf.tensor(x.dataSync(), x.shape, x.dtype) : lifted(x));

// The axes of a reduction, from 0; null is all of them.
const axesOf = (x, axis) => (axis === null ? x.shape.map((_, k) => k) : [axis].flat().map((a) => (a < 0 ? a + x.rank : a)));

const reduction = (name) => ([x], { axis, keepdims }) => (axesOf(x, axis).length ? tf[name](x, axesOf(x, axis), keepdims) : x);

// Over one axis after the other: its derivative knows no more.
function prod([x], { axis, keepdims }) {
  return axesOf(x, axis).sort((a, b) => b - a).reduce((y, a) => tf.prod(y, a, keepdims), x);
}

function extremePlace(name) {
  return ([x], { axis, keepdims }) => {
    const places = axis === null ? tf[name](tf.reshape(x, [-1]), 0) : tf[name](x, axis);
    if (!keepdims) return places;
    return tf.reshape(places, x.shape.map((n, k) => (axesOf(x, axis).includes(k) ? 1 : n)));
  };
}

function lastAxis(name) {
  return ([x], { axis }) => {
    if (axis !== -1 && axis !== x.rank - 1) throw new kit.Unsupported(`${name} of TensorFlow.js is over the last axis`);
    return tf[name](x);
  };
}

// Where a slice starts, and its sizes. An index counts from the end where it is negative.
function region(x, pattern, indices) {
  const rest = [...indices];
  const starts = pattern.map((entry, k) => {
    if (entry !== "at") return entry[1];
    const at = Number(rest.shift());
    if (at < -x.shape[k] || at >= x.shape[k]) throw new RangeError(`index ${at} is outside an axis of size ${x.shape[k]}`);
    return at < 0 ? at + x.shape[k] : at;
  });
  return [starts, pattern.map((entry) => (entry === "at" ? 1 : entry[2] - entry[1]))];
}

function index([x, ...indices], { pattern }) {
  const [starts, sizes] = region(x, pattern, indices);
  return pattern.length ? tf.reshape(tf.slice(x, starts, sizes), sizes.filter((_, k) => pattern[k] !== "at")) : x;
}

// There is no assignment that is differentiated: the new entries are padded to the size of `x`, and chosen where they belong.
function indexUpdate([x, value, ...indices], { pattern }) {
  if (!pattern.length) return value;
  const [starts, sizes] = region(x, pattern, indices);
  const around = x.shape.map((n, k) => [starts[k], n - starts[k] - sizes[k]]);
  const there = tf.cast(tf.pad(tf.ones(sizes), around), "bool");
  return tf.where(there, tf.cast(tf.pad(tf.cast(tf.reshape(lifted(value), sizes), "float32"), around), x.dtype), x);
}

function matmul([a, b]) {
  if (a.rank === 1 && b.rank === 1) return tf.dot(a, b);
  const left = a.rank > 1 ? a : tf.reshape(a, [1, ...a.shape]);
  const right = b.rank > 1 ? b : tf.reshape(b, [...b.shape, 1]);
  const product = tf.matMul(left, right);
  if (a.rank > 1 && b.rank > 1) return product;
  return tf.reshape(product, [...product.shape.slice(0, -2), ...(a.rank > 1 ? product.shape.slice(-2, -1) : product.shape.slice(-1))]);
}

// The part of each matrix on and below diagonal k; `upper`: on and above it.
function triangle(x, k, upper) {
  const [rows, columns] = x.shape.slice(-2);
  if (k !== 0) {
    const kept = Array.from({ length: rows * columns }, (_, at) => (at % columns) - Math.floor(at / columns));
    return tf.mul(x, tf.tensor(Float32Array.from(kept, (d) => Number(upper ? d >= k : d <= k)), [rows, columns]));
  }
  return upper ? tf.linalg.bandPart(x, 0, -1) : tf.linalg.bandPart(x, -1, 0);
}

function vectorNorm([x], { ord, axis, keepdims }) {
  if (axis === null && x.rank !== 1) throw new kit.Unsupported("tf.norm takes a tensor of more axes for a matrix");
  if (Array.isArray(axis) && axis.length !== 1) throw new kit.Unsupported("tf.norm of a vector is over one axis");
  if (ord !== 1 && ord !== 2 && ord !== "inf" && ord !== "-inf") throw new kit.Unsupported(`tf.norm documents no ord ${ord} of vectors`);
  const place = axis === null ? 0 : Number(axis);
  return tf.norm(x, { inf: Infinity, "-inf": -Infinity }[ord] || ord, place < 0 ? place + x.rank : place, keepdims);
}

function matrixNorm([x], { ord, keepdims }) {
  if (ord !== "fro" && ord !== 1 && ord !== "inf") throw new kit.Unsupported(`tf.norm has no matrix norm ${ord}`);
  return tf.norm(x, ord === "inf" ? Infinity : ord, [x.rank - 2, x.rank - 1], keepdims);
}

// Channels last, the kernel as [window..., in, out], one or two axes of places.
function conv([x, kernel], { strides, padding }) {
  const n = x.rank - 2;
  if (n !== 1 && n !== 2) throw new kit.Unsupported("tf.conv1d and tf.conv2d have one and two axes");
  const pads = padding === null ? Array(n).fill([0, 0]) : padding;
  const steps = strides === null ? Array(n).fill(1) : strides;
  const last = (t) => tf.transpose(t, [0, ...Array.from({ length: n }, (_, k) => k + 2), 1]);
  const filter = tf.transpose(kernel, [...Array.from({ length: n }, (_, k) => k + 2), 1, 0]);
  const images = n === 1 ? tf.expandDims(last(x), 1) : last(x);
  const rows = n === 1 ? [[0, 0], pads[0]] : pads;
  const made = tf.conv2d(images, n === 1 ? tf.expandDims(filter, 0) : filter, n === 1 ? [1, steps[0]] : steps, [[0, 0], ...rows, [0, 0]]);
  const places = n === 1 ? tf.squeeze(made, [1]) : made;
  return tf.transpose(places, [0, n + 1, ...Array.from({ length: n }, (_, k) => k + 1)]);
}

const same = (name) => (operands) => tf[name](...operands.map(lifted));
const SAME = {
  ...{ add: "add", subtract: "sub", multiply: "mul", divide: "div", negative: "neg", pow: "pow", remainder: "mod" },
  ...{ sin: "sin", cos: "cos", tan: "tan", tanh: "tanh", exp: "exp", log: "log", sqrt: "sqrt", log1p: "log1p", expm1: "expm1" },
  ...{ abs: "abs", sign: "sign", maximum: "maximum", minimum: "minimum", less: "less", less_equal: "lessEqual" },
  ...{ greater: "greater", greater_equal: "greaterEqual", equal: "equal", not_equal: "notEqual", outer: "outerProduct" },
  ...{ logical_and: "logicalAnd", logical_or: "logicalOr", logical_not: "logicalNot" },
};

const OPS = {
  ...Object.fromEntries(Object.entries(SAME).map(([op, name]) => [op, same(name)])),
  ...Object.fromEntries(["sum", "mean", "all", "any"].map((op) => [op, reduction(op)])),
  amax: reduction("max"),
  amin: reduction("min"),
  logsumexp: reduction("logSumExp"),
  prod,
  argmax: extremePlace("argMax"),
  argmin: extremePlace("argMin"),
  softmax: lastAxis("softmax"),
  log_softmax: lastAxis("logSoftmax"),
  integer_pow: ([x], { n }) => (n === 2 ? tf.square(x) : tf.pow(x, tf.scalar(n))),
  clip: ([x, lower, upper]) => tf.minimum(tf.maximum(lifted(x), lifted(lower)), lifted(upper)),
  where: ([condition, a, b]) => tf.where(detached(condition), lifted(a), lifted(b)),
  cumulative_sum: ([x], { axis }) => tf.cumsum(x, axis),
  astype: ([x], { dtype }) => tf.cast(lifted(x), DTYPES[dtype]),
  reshape: ([x], { shape }) => tf.reshape(lifted(x), shape),
  broadcast_to: ([x], { shape }) => tf.broadcastTo(lifted(x), shape),
  permute_dims: ([x], { axes }) => (axes.length ? tf.transpose(x, axes) : x),
  flip: ([x], { axis }) => tf.reverse(x, axis),
  concat: (arrays, { axis }) => tf.concat(arrays, axis),
  stack: (arrays, { axis }) => tf.stack(arrays.map(lifted), axis),
  index,
  index_update: indexUpdate,
  take: ([x, indices], { axis }) => tf.gather(x, detached(indices), axis),
  matmul,
  conv,
  tril: ([x], { k }) => triangle(x, k, false),
  triu: ([x], { k }) => triangle(x, k, true),
  vector_norm: vectorNorm,
  matrix_norm: matrixNorm,
};

// tf.grads of programs that run in JavaScript.
class Grad extends kit.Way {
  name = "grad";
  ops = OPS;
  dtypes = ["float32"];
  orders = [0, 1, 2, 3];

  array(dtype, shape, entries) {
    return tensor(dtype, shape, entries);
  }

  entries(value) {
    const numbers = value.dataSync();
    return value.dtype === "int32" ? ["int64", value.shape, Array.from(numbers, BigInt)] : [value.dtype, value.shape, Array.from(numbers)];
  }

  differentiate(f, xs, weights, directions, modes) {
    const outputs = f(...xs);
    if (!modes.length) return [outputs, []];
    let g = (...ys) => total(f(...ys).flatMap((y, k) => (weights[k] ? [tf.mul(y, weights[k])] : [])));
    for (let order = 1; order < modes.length; order++) {
      const slopes = gradient(g);
      g = (...ys) => total(slopes(...ys).map((slope, k) => tf.mul(slope, directions[k])));
    }
    try {
      return [outputs, gradient(g)(...xs)];
    } catch (error) {
      if (/gradient function not found for/.test(error.message)) throw new kit.Unsupported(error.message);
      throw error;
    }
  }
}

function total(terms) {
  const numbers = terms.map((term) => (term.rank ? tf.sum(term) : term));
  return numbers.length === 1 ? numbers[0] : tf.addN([...numbers, ...(numbers.length ? [] : [tf.scalar(0)])]);
}

// The gradient of a function of tensors as another one. tf.grads refuses an input that has no part in the result; a term with 0 gives it one.
function gradient(g) {
  return (...xs) => {
    try {
      return tf.grads(g)(xs);
    } catch (error) {
      if (!/^Cannot compute gradient of y=f\(x\)/.test(error.message)) throw error;
      return tf.grads((...ys) => tf.addN([g(...ys), ...ys.map((y) => tf.sum(tf.mul(y, 0)))]))(xs);
    }
  };
}

kit.serve("@tensorflow/tfjs", tf.version.tfjs, [new Grad()]);
