// An adapter to begin with: replace the toy by your library, and every line that says "yours".
//
// The toy is forward mode on scalars by dual numbers. Try it, then check yours in the same way:
//
//     gradfuzz targets check 'node toy_adapter.js'
//     gradfuzz sweep 'cmd:node toy_adapter.js'
//
// `kit.js` lies beside this file; it speaks the protocol, walks the programs, and turns errors into answers.

"use strict";

const kit = require("./kit.js");

// A number and its slope along one direction. Yours: delete it, and require your library.
class Dual {
  constructor(value, slope = 0) {
    this.value = value;
    this.slope = slope;
  }
}

// One way into the library; write a class for each, and give all of them to `serve`.
class Toy extends kit.Way {
  name = ""; // what follows "mylib:" in the target's name; "" where there is one way only

  // Yours: op of a program -> function(operands, static parameters). Ops that are not here are unsupported. The operands
  // have the dtype that the op works in; docs/targets.md says what each op is given.
  ops = {
    add: ([a, b]) => new Dual(a.value + b.value, a.slope + b.slope),
    subtract: ([a, b]) => new Dual(a.value - b.value, a.slope - b.slope),
    multiply: ([a, b]) => new Dual(a.value * b.value, a.slope * b.value + a.value * b.slope),
    negative: ([a]) => new Dual(-a.value, -a.slope),
    sin: ([a]) => new Dual(Math.sin(a.value), Math.cos(a.value) * a.slope),
    cos: ([a]) => new Dual(Math.cos(a.value), -Math.sin(a.value) * a.slope),
    less: ([a, b]) => a.value < b.value,
    less_equal: ([a, b]) => a.value <= b.value,
  };

  // Yours: what it can. Several orders and modes mean every sequence of them, from the innermost derivative to the outermost.
  dtypes = ["float64"]; // of float64, float32, bfloat16, float16
  modes = ["fwd"]; // of rev, fwd
  orders = [0, 1]; // 0 is the outputs alone

  // Yours: a tensor of the library with these entries, in row-major order. Every float input and constant is made here.
  array(dtype, shape, entries) {
    if (shape.length) throw new kit.Unsupported("the toy has no arrays");
    return new Dual(Number(entries[0]));
  }

  // Yours: [dtype, shape, entries] of a tensor of the library, as it is: a wrong dtype or shape is for gradfuzz to see.
  entries(value) {
    return ["float64", [], [value.value]];
  }

  // Yours: the outputs of `f(...xs)`, and a derivative of F = sum of <weight, output> for each of `xs`.
  //
  // A weight is null for an output that takes no part. Every mode of `modes` but the last contracts with `directions`, one for each of
  // `xs`; the last one gives the gradient. Here there is one at most, and the toy has it by a run for each input.
  differentiate(f, xs, weights, directions, modes) {
    const gradient = xs.map((_, k) => {
      const outputs = modes.length ? f(...xs.map((x, j) => new Dual(x.value, j === k ? 1 : 0))) : [];
      return new Dual(outputs.reduce((sum, y, j) => (weights[j] ? sum + y.slope * weights[j].value : sum), 0));
    });
    return [f(...xs), gradient];
  }
}

kit.serve("toy", "1.0", [new Toy()]); // yours: the library's name and its version
