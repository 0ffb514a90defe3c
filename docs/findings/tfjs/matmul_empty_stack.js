// tf.matMul of an empty stack of matrices and one matrix: TensorFlow.js computes a product for the stack of none. Its cpu backend
// (kernels/BatchMatMul.ts) takes the larger of the two numbers of matrices, here 1 of 0 and 1, where the shape has 0.
//
//     tf.matMul(zeros [0, 2, 2], ones [2, 2]) has the shape [0, 2, 2] and no entry; it has four, NaN each
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

const got = Array.from(tf.matMul(tf.zeros([0, 2, 2]), tf.ones([2, 2])).dataSync(), String);
const wrong = got.length > 0;
console.log(`TensorFlow.js ${tf.version.tfjs}: entries of the product: got [${got}], expected []`);
console.log(wrong ? "wrong" : "right");
process.exit(wrong ? 1 : 0);
