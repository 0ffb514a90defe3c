// The gradient of tf.maximum and tf.minimum of operands of two shapes: TensorFlow.js raises.
//
//     tf.maximum(x, 0) is a rectifier; its gradient by both operands is 1 where the operand was chosen.
//
// The rules (gradients/Maximum_grad.ts, Minimum_grad.ts) do not sum over the axes along which an operand was stretched, as those of add, sub, mul and
// div do; the engine then refuses a gradient that has not the operand's shape.
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

let wrong = false;
for (const [name, expected] of [["maximum", 2], ["minimum", 1]]) {
  let got;
  try {
    got = tf.grads((x, y) => tf.sum(tf[name](x, y)))([tf.tensor([0.5, -1, 3]), tf.scalar(1)])[1].dataSync()[0];
  } catch (error) {
    got = error.message;
  }
  console.log(`TensorFlow.js ${tf.version.tfjs}: d/dy of sum(${name}([0.5, -1, 3], y)) at y = 1: got ${got}, expected ${expected}`);
  wrong = wrong || got !== expected;
}
console.log(wrong ? "wrong" : "right");
process.exit(wrong ? 1 : 0);
