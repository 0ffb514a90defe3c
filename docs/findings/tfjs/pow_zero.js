// The gradient of x^0 at x = 0: TensorFlow.js returns NaN.
//
//     tf.pow(x, 0) is 1 everywhere, also at 0, where TensorFlow.js returns 1; so its derivative by x is 0.
//
// The rule for the base (gradients/Pow_grad.ts) is dy * b * a^(b - 1), which is 0 * infinity there.
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

const value = tf.pow(tf.scalar(0), 0).dataSync()[0];
const got = tf.grad((x) => tf.pow(x, 0))(tf.scalar(0)).dataSync()[0];
console.log(`TensorFlow.js ${tf.version.tfjs}: x^0 at 0 is ${value}; its derivative: got ${got}, expected 0`);
console.log(got === 0 ? "right" : "wrong");
process.exit(got === 0 ? 0 : 1);
