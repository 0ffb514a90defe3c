// Second derivatives of exp, tanh and sigmoid: TensorFlow.js drops them.
//
// The rules of these functions reuse the result y = f(x). The engine saves a copy of it, and the copy is written on the tape before the
// function itself is (engine.ts, runKernelFunc: saveTensorsForBackwardMode comes before addTapeNode), so that tf.grad of a gradient does not see
// that the copy depends on x. What depends on x in another way is still differentiated, and the answer is wrong without a word: the
// second derivative of x^2 + exp(x) is 2. Alone, tf.grad(tf.grad(tf.exp)) raises (tfjs issue 3252).
//
// Prints got and expected, and exits with 1 while they differ. Needs Node.js and @tensorflow/tfjs: npm install @tensorflow/tfjs && node FILE

"use strict";

let tf;
try {
  tf = require("@tensorflow/tfjs");
} catch (error) {
  console.error("This script needs: npm install @tensorflow/tfjs");
  process.exit(125);
}

const x = 0.5;
const t = Math.tanh(x);
const s = 1 / (1 + Math.exp(-x));
const cases = [
  ["exp(x)", tf.exp, Math.exp(x)],
  ["tanh(x)", tf.tanh, -2 * t * (1 - t * t)],
  ["sigmoid(x)", tf.sigmoid, s * (1 - s) * (1 - 2 * s)],
  ["2^x", (v) => tf.pow(2, v), Math.log(2) ** 2 * 2 ** x],
];

let wrong = false;
for (const [name, g, second] of cases) {
  const f = (v) => tf.add(tf.mul(v, v), g(v));
  const got = tf.grad(tf.grad(f))(tf.scalar(x)).dataSync()[0];
  console.log(`TensorFlow.js ${tf.version.tfjs}: second derivative of x^2 + ${name} at ${x}: got ${got}, expected ${2 + second}`);
  wrong = wrong || !(Math.abs(got - 2 - second) < 1e-5);
}
console.log(wrong ? "wrong" : "right");
process.exit(wrong ? 1 : 0);
