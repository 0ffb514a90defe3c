# An adapter to begin with: replace the toy by your library, and every line that says "yours".
#
# The toy is forward mode on scalars by dual numbers. Written after Julia's documentation; it has never been run. Try it, then check yours in the same way:
#
#     gradfuzz targets check 'julia toy_adapter.jl'
#     gradfuzz sweep 'cmd:julia toy_adapter.jl'
#
# `kit.jl` lies beside this file; it speaks the protocol, walks the programs, and turns exceptions into answers.

include("kit.jl")

# A number and its slope along one direction. Yours: delete it, and load your library.
struct Dual
    value::Float64
    slope::Float64
end

# Yours: op of a program => function of operands and static parameters. Ops that are not here are unsupported. The operands
# have the dtype that the op works in; docs/targets.md says what each op is given.
const OPS = Dict{String, Any}(
    "add" => ((a, b), _) -> Dual(a.value + b.value, a.slope + b.slope),
    "subtract" => ((a, b), _) -> Dual(a.value - b.value, a.slope - b.slope),
    "multiply" => ((a, b), _) -> Dual(a.value * b.value, a.slope * b.value + a.value * b.slope),
    "negative" => ((a,), _) -> Dual(-a.value, -a.slope),
    "sin" => ((a,), _) -> Dual(sin(a.value), cos(a.value) * a.slope),
    "cos" => ((a,), _) -> Dual(cos(a.value), -sin(a.value) * a.slope),
    "less" => ((a, b), _) -> a.value < b.value,
    "less_equal" => ((a, b), _) -> a.value <= b.value,
)

# Yours: a tensor of the library with these entries, in row-major order. Every float input and constant is made here.
function array(dtype, shape, entries)
    isempty(shape) || throw(Kit.Unsupported("the toy has no arrays"))
    return Dual(entries[1], 0.0)
end

# Yours: (dtype, shape, entries) of a tensor of the library, as it is: a wrong dtype or shape is for gradfuzz to see.
entries(x) = ("float64", Int[], [x.value])

# Yours: the outputs of `f(xs)`, and a derivative of F = sum of <weight, output> for each of `xs`.
#
# A weight is `nothing` for an output that takes no part. Every mode of `modes` but the last contracts with `directions`, one for each of
# `xs`; the last one gives the gradient. Here there is one at most, and the toy has it by a run for each input.
function differentiate(f, xs, weights, directions, modes)
    outputs = f(xs)
    gradient = Any[]
    for k in eachindex(xs)
        isempty(modes) && break
        found = f(Any[Dual(x.value, j == k ? 1.0 : 0.0) for (j, x) in enumerate(xs)])
        push!(gradient, Dual(sum((y.slope * w.value for (y, w) in zip(found, weights) if w !== nothing); init = 0.0), 0.0))
    end
    return outputs, gradient
end

# One way into the library; give `serve` one for each. `name` is what follows "mylib:" in the target's name; "" where there is one way only.
# Yours: what it can. Several orders and modes mean every sequence of them, from the innermost derivative to the outermost.
way = Kit.Way(
    name = "", ops = OPS, dtypes = ["float64"], modes = ["fwd"], orders = [0, 1], array = array, entries = entries, differentiate = differentiate,
)

Kit.serve("toy", "1.0", [way])  # yours: the library's name and its version
