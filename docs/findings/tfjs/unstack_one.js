// The gradient of tf.unstack along an axis of size 1: TensorFlow.js raises. So does tf.linalg.bandPart of a single matrix, which is made of it.
//
// Of a kernel with one output the engine hands on the one gradient, and not a list of it; the rule (gradients/Unpack_grad.ts) stacks what it gets.
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

const cases = [
  ["sum(unstack(x)[0]) at [[1, 2]]", (x) => tf.sum(tf.unstack(x)[0]), [[1, 2]], [[1, 1]]],
  ["sum(unstack(x)[0]) at [[1, 2], [3, 4]]", (x) => tf.sum(tf.unstack(x)[0]), [[1, 2], [3, 4]], [[1, 1], [0, 0]]],
  ["sum(bandPart(x, 0, -1)) at [[1, 2], [3, 4]]", (x) => tf.sum(tf.linalg.bandPart(x, 0, -1)), [[1, 2], [3, 4]], [[1, 1], [0, 1]]],
];

let wrong = false;
for (const [name, f, at, expected] of cases) {
  let got;
  try {
    got = JSON.stringify(tf.grad(f)(tf.tensor(at)).arraySync());
  } catch (error) {
    got = error.message;
  }
  console.log(`TensorFlow.js ${tf.version.tfjs}: gradient of ${name}: got ${got}, expected ${JSON.stringify(expected)}`);
  wrong = wrong || got !== JSON.stringify(expected);
}
console.log(wrong ? "wrong" : "right");
process.exit(wrong ? 1 : 0);
