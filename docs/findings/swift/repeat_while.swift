// Gradients of x * x, computed by repeat-while: the adjoint of a variable is added up over the iterations.
//
//     number    var acc = 1.0, twice acc = acc * x     the gradient at 0.5 is 1
//     property  the same of a Differentiable struct, by *=
//     array     a product of an array's entries        the gradient at [2, 3] is [3, 2]
//
// The same loop by `while` or `for` is right, and so is a variable of its own by `*=`. It is Swift #78264.
// Prints got and expected, and exits with 1 while they differ. Run it with: swift swift/repeat_while.swift

import Foundation
import _Differentiation

@differentiable(reverse)
func number(_ x: Double) -> Double {
  var acc = 1.0
  var k = 0
  repeat {
    acc = acc * x
    k += 1
  } while k < 2
  return acc
}

struct State: Differentiable {
  var acc: Double
  var factor: Double
}

@differentiable(reverse)
func property(_ x: Double) -> Double {
  var state = State(acc: 1.0, factor: x)
  var k = 0
  repeat {
    state.acc *= state.factor
    k += 1
  } while k < 2
  return state.acc
}

@differentiable(reverse)
func array(_ x: [Double]) -> Double {
  var acc = 1.0
  var k = 0
  repeat {
    acc = acc * x[k]
    k += 1
  } while k < 2
  return acc
}

@differentiable(reverse)
func byWhile(_ x: Double) -> Double {
  var acc = 1.0
  var k = 0
  while k < 2 {
    acc = acc * x
    k += 1
  }
  return acc
}

let rows: [(String, [Double], [Double])] = [
  ("repeat, number", [gradient(at: 0.5, of: number)], [1]),
  ("repeat, property of a struct", [gradient(at: 0.5, of: property)], [1]),
  ("repeat, array", gradient(at: [2, 3], of: array).base, [3, 2]),
  ("while, number", [gradient(at: 0.5, of: byWhile)], [1]),
]
for (name, got, expected) in rows { print("\(name): got \(got), expected \(expected)") }
exit(rows.allSatisfy { $0.1 == $0.2 } ? 0 : 1)
