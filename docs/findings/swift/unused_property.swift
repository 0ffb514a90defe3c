// The gradient of x * x is NaN where another property of the same struct, on which the result does not
// depend, has an infinite slope. With variables in place of the struct it is right.
//
//     property   s.acc * s.acc and, unused, sqrt(s.b), at x = b = 0     the gradient is 0
//     loop       twice acc = acc * x beside b = b * b * x, which grows beyond all numbers; at 0.5 it is 1
//
// Prints got and expected, and exits with 1 while they differ. Run it with: swift swift/unused_property.swift

import Foundation
import _Differentiation

struct State: Differentiable {
  var acc: Double
  var b: Double
}

@differentiable(reverse)
func property(_ x: Double) -> Double {
  var state = State(acc: x, b: x)
  state.b = state.b.squareRoot()
  return state.acc * state.acc
}

@differentiable(reverse)
func inALoop(_ x: Double) -> Double {
  var state = State(acc: 1, b: 1e200)
  for _ in 0..<2 {
    state.acc = state.acc * x
    state.b = state.b * state.b * x
  }
  return state.acc
}

@differentiable(reverse)
func variables(_ x: Double) -> Double {
  var acc = 1.0
  var b = 1e200
  for _ in 0..<2 {
    acc = acc * x
    b = b * b * x
  }
  return acc
}

let rows = [
  ("property", gradient(at: 0.0, of: property), 0.0),
  ("properties in a loop", gradient(at: 0.5, of: inALoop), 1.0),
  ("variables in a loop", gradient(at: 0.5, of: variables), 1.0),
]
for (name, got, expected) in rows { print("\(name): got \(got), expected \(expected)") }
exit(rows.allSatisfy { $0.1 == $0.2 } ? 0 : 1)
